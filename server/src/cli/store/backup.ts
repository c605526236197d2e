// `punctual backup`: copies a store into a file while a service runs on it. The copy gets its final name only when it
// is complete, checked and on disk. So every file with that name can be restored.
import { existsSync, realpathSync, rmSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { formatInstant } from "@punctual/api/Instant"
import { Clock, Effect, Option, type Scope } from "effect"
import { Argument, Command } from "effect/cli"
import type { SealingKeys } from "../../engine/namespaces/SealingKeys.ts"
import { backupRemark } from "../../maintenance/sealingRemark.ts"
import type { CopyFacts, StoreCopies } from "../../ports/StoreCopy.ts"
import { asCommandFailed } from "../frame/asCommandFailed.ts"
import { CommandFailed, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { bytesShown, countOf, countShown, spanShown } from "../frame/figures.ts"
import { storeFlag } from "./exportArchive.ts"
import { sizeOf, tellGrowth } from "./FileGrowth.ts"

export interface KeptCopies extends StoreCopies {
  /** The keys that open the store's webhook secrets. */
  readonly keys: SealingKeys
}

/** Opens the store that the flag or the settings name. */
export type OpenCopies = (
  storeUrl: string | undefined,
) => Effect.Effect<KeptCopies, { readonly message: string }, Scope.Scope>

export const backupCommand = (open: OpenCopies) =>
  Command.make(
    "backup",
    {
      file: Argument.String("FILE").pipe(Argument.withDescription("The file for the copy")),
      store: storeFlag,
      force: switchFlag("force", "Replace an existing file"),
      json: switchFlag("json", "Print one JSON object"),
    },
    ({ file: given, store, force, json }) =>
      Effect.gen(function* () {
        const file = resolve(given)
        const copies = yield* asCommandFailed(open(Option.getOrUndefined(store)))
        const why = whyNot(file, copies.path, force)
        if (why !== undefined) return yield* new CommandFailed({ message: why })
        const partial = `${file}.partial-${process.pid}`
        yield* Effect.addFinalizer(() => removed(partial))
        const startedMs = yield* Clock.currentTimeMillis
        yield* tellGrowth(partial, sizeOf(copies.path))
        const facts = yield* asCommandFailed(copies.copy({ file, partial, takenAtMs: startedMs }))
        const tookMs = (yield* Clock.currentTimeMillis) - startedMs
        const { answer, remark } = yield* Output
        yield* answer(json ? backupJson(file, facts, tookMs) : backupText(file, facts, tookMs))
        yield* copies.keys.load
        const leftOut = backupRemark(copies.keys)
        if (leftOut !== undefined) yield* remark(leftOut)
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Copy a store that is a file into another file, as it is at one instant. The service may keep running.",
        "  The command checks the copy before it gives it its name. punctual restore puts the copy back.",
        "  For a store on a database server the command names the backup tool of that server.",
      ].join("\n"),
    ),
    Command.withShortDescription("Copy a store into a file while it runs"),
    Command.withExamples([{ command: "punctual backup /backups/punctual-monday.db" }]),
  )

/** Removes the rest of an interrupted copy. If that fails, the copy itself has failed for the same reason. */
const removed = (partial: string) =>
  Effect.ignore(
    Effect.try(() => {
      for (const left of [partial, `${partial}-journal`]) rmSync(left, { force: true })
    }),
  )

/** Why the command may not write to the file; `undefined` if it may. */
const whyNot = (file: string, storePath: string, isForced: boolean): string | undefined => {
  if (!existsSync(dirname(file))) return `there is no folder ${dirname(file)}: make it first.`
  if (!existsSync(file)) return undefined
  if (existsSync(storePath) && realpathSync(file) === realpathSync(storePath)) {
    return `${file} is the store itself: name another file.`
  }
  if (!statSync(file).isFile()) return `${file} is not a file: name a file.`
  return isForced ? undefined : `${file} already exists: name another file, or replace it with --force.`
}

const backupText = (file: string, facts: CopyFacts, tookMs: number): string =>
  [
    `${file} contains the store as of ${formatInstant(facts.takenAtMs)}: ${countOf(facts.pending, "pending timer")},`,
    `${countShown(facts.history)} in the history, ${countOf(facts.dead, "dead letter")};`,
    `${bytesShown(facts.bytes)}, checked, in ${spanShown(tookMs)}.`,
  ].join(" ")

const backupJson = (file: string, facts: CopyFacts, tookMs: number): string => {
  const { takenAtMs, ...rest } = facts
  return JSON.stringify({ file, takenAt: formatInstant(takenAtMs), ...rest, tookMs }, undefined, 2)
}
