// `punctual restore`: puts a backup in the place of a store that no service runs on. The lost store may have delivered
// timers that became due since the backup, and the restored store cannot know which. So the store stays paused, which
// means that it accepts timers but fires none, until the operator decides about these timers. The operator can decide
// in the same command, or later in a second one without a file.
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { formatInstant, parseInstant, whyNoInstant } from "@punctual/api/Instant"
import type { Documents } from "@punctual/documents/Documents"
import { Clock, Effect, Option, type Scope } from "effect"
import { Argument, type CliError, Command, Flag } from "effect/cli"
import type { SealingKeys } from "../../engine/namespaces/SealingKeys.ts"
import type { SettingsRecords } from "../../engine/namespaces/SettingsRecords.ts"
import { sealedIn, sealingRemark } from "../../maintenance/sealingRemark.ts"
import { stopBulkJobs } from "../../maintenance/stopBulkJobs.ts"
import { unconfirmedRemark, unconfirmKeys } from "../../maintenance/unconfirmKeys.ts"
import type { CopyFacts, StorePlace } from "../../ports/StoreCopy.ts"
import { asCommandFailed, told } from "../frame/asCommandFailed.ts"
import { CommandFailed, misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { bytesShown, countOf, countShown } from "../frame/figures.ts"
import { storeFlag } from "./exportArchive.ts"
import { sizeOf, tellGrowth } from "./FileGrowth.ts"
import {
  type OverdueChoice,
  overdueChoices,
  pauseOf,
  pauseRestored,
  type Settled,
  type SettleTarget,
  settleOverdue,
} from "./settleOverdue.ts"

type Opened<A> = Effect.Effect<A, { readonly message: string }, Scope.Scope>

/** What a restore changes besides timers. */
interface RestoredRecords {
  readonly documents: Documents["Service"]
  readonly namespaces: SettingsRecords
}

/** The store that the flag or the settings name. It is not touched before one of these is opened. */
export interface RestoreTarget {
  /** The place of its file. Fails while a service runs on the store, and if the store is not a file. */
  readonly place: Opened<StorePlace>
  /** The records in a prepared file, whose schema is updated to the version of this program. */
  recordsIn(file: string, shards: number): Opened<RestoredRecords>
  /** The store itself, after the backup is in place. */
  readonly settling: Opened<SettleTarget & RestoredRecords>
  /** The number of shards in the settings. */
  readonly shards: number
  /** The keys that open webhook secrets in the place of the store. */
  readonly keys: SealingKeys
}

export type OpenRestoreTarget = (
  storeUrl: string | undefined,
) => Effect.Effect<RestoreTarget, { readonly message: string }, Scope.Scope>

interface Said {
  readonly beforeMs: number
  readonly choice: OverdueChoice
}

export const restoreCommand = (open: OpenRestoreTarget) =>
  Command.make(
    "restore",
    {
      words: Argument.String("FILE").pipe(
        Argument.withDescription(
          "The backup; after --due-before, what to do with the timers: fire, dead or discard",
        ),
        Argument.variadic({ max: 2 }),
      ),
      dueBefore: Flag.String("due-before").pipe(
        Flag.withMetavar("T"),
        Flag.withDescription("Decide about timers that were due before T: an instant, or now"),
        Flag.optional,
      ),
      store: storeFlag,
      force: switchFlag(
        "force",
        "Replace an existing store, which is kept beside it; or decide for a store that was not restored",
      ),
      json: switchFlag("json", "Print one JSON object"),
    },
    ({ words, dueBefore, store, force, json }) =>
      Effect.gen(function* () {
        const { file, said } = yield* asked(words, Option.getOrUndefined(dueBefore))
        const target = yield* asCommandFailed(open(Option.getOrUndefined(store)))
        const restored = file === undefined ? undefined : yield* placed(target, resolve(file), force)
        if (restored !== undefined) yield* toldOf(restored)
        const isRestored = restored !== undefined
        const settled =
          said === undefined ? undefined : yield* settledAs(target, said, { isRestored, isForced: force })
        const { answer } = yield* Output
        if (json) yield* answer(restoreJson(restored, said, settled))
        else if (settled !== undefined && said !== undefined) yield* answer(settledText(said, settled))
        else yield* answer(stillPaused)
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(description),
    Command.withShortDescription("Put a backup in the place of its store"),
    Command.withExamples([
      { command: "punctual restore /backups/punctual-monday.db" },
      { command: "punctual restore /backups/punctual-monday.db --due-before now fire" },
      { command: "punctual restore --due-before 2030-01-01T09:00:00Z dead" },
    ]),
  )

const description = [
  "Put a backup in the place of its store. No service may run on the store meanwhile.",
  "  The store stays paused: it accepts timers but fires none, until you decide about the timers that were due",
  "  before T, an instant or now. Without a file the command applies your decision to the existing store.",
  "    --due-before T fire      they fire as soon as the service starts, even if they were already delivered",
  "    --due-before T dead      they become dead letters, which you can list, replay or discard",
  "    --due-before T discard   they are cancelled",
  "  The exit code is 0 if everything was done, 1 if something was not, 2 for wrong usage.",
].join("\n")

const stillPaused =
  "The store is paused: it accepts timers but fires none. Before the service starts, decide about the timers that " +
  "became due since the backup: punctual restore --due-before now fire|dead|discard. Or start the service and fire all of them: punctual resume --fire-overdue."

/** With --due-before the last word is the choice: fire, dead or discard. */
const asked = (
  words: ReadonlyArray<string>,
  dueBefore: string | undefined,
): Effect.Effect<{ readonly file?: string; readonly said?: Said }, CliError.CliError> =>
  Effect.gen(function* () {
    const wrong = (message: string) => Effect.fail(misuse(["restore"], message))
    if (dueBefore === undefined) {
      const [file, ...more] = words
      if (file === undefined)
        return yield* wrong("Name the backup, or decide about overdue timers with --due-before.")
      return more.length === 0 ? { file } : yield* wrong(`Say for which timers: --due-before T ${more[0]}.`)
    }
    const choice = overdueChoices.find((known) => known === words.at(-1))
    if (choice === undefined)
      return yield* wrong("Say what to do with the timers: --due-before T fire, dead or discard.")
    const beforeMs = dueBefore === "now" ? yield* Clock.currentTimeMillis : parseInstant(dueBefore)
    if (beforeMs === undefined) {
      return yield* wrong(`--due-before must be now, or ${whyNoInstant(dueBefore)}.`)
    }
    const [file] = words.slice(0, -1)
    return { ...(file === undefined ? {} : { file }), said: { beforeMs, choice } }
  })

interface Restored {
  readonly file: string
  readonly path: string
  readonly facts: CopyFacts
  readonly kept?: string
  readonly otherShards?: number
  /** A remark about the key of its webhook secrets. */
  readonly ofKey?: string
  /** It has keys of callers, which must be confirmed. */
  readonly hasKeys: boolean
}

/** Releases the lock of the place before anything else opens the store. */
const placed = (target: RestoreTarget, file: string, isForced: boolean) =>
  Effect.gen(function* () {
    const place = yield* asCommandFailed(target.place)
    const isItself =
      existsSync(file) && existsSync(place.path) && realpathSync(file) === realpathSync(place.path)
    if (isItself) return yield* new CommandFailed({ message: `${file} is the store itself: name a backup.` })
    if (place.isTaken && !isForced) {
      const message = `there is already a store at ${place.path}: add --force to replace it. The command keeps the old store beside the new one.`
      return yield* new CommandFailed({ message })
    }
    const facts = yield* asCommandFailed(place.inspect(file))
    const nowMs = yield* Clock.currentTimeMillis
    yield* tellGrowth(place.prepared, sizeOf(file))
    yield* asCommandFailed(place.prepare(file))
    const { sealed, hasKeys } = yield* Effect.gen(function* () {
      const { namespaces, documents } = yield* asCommandFailed(target.recordsIn(place.prepared, facts.shards))
      yield* pauseRestored(namespaces, facts.takenAtMs, nowMs)
      yield* asCommandFailed(stopBulkJobs(documents, nowMs))
      return {
        sealed: yield* told(sealedIn(namespaces)),
        hasKeys: yield* asCommandFailed(unconfirmKeys(documents, nowMs)),
      }
    }).pipe(Effect.scoped)
    const kept = place.isTaken ? `${place.path}.before-restore-${stamp(nowMs)}` : undefined
    yield* asCommandFailed(place.put(kept))
    const ofKey = yield* sealingRemark(sealed, target.keys)
    const restored: Restored = {
      ...(ofKey === undefined ? {} : { ofKey }),
      hasKeys,
      file,
      path: place.path,
      facts,
      ...(kept === undefined ? {} : { kept }),
      ...(facts.shards === target.shards ? {} : { otherShards: facts.shards }),
    }
    return restored
  }).pipe(Effect.scoped)

/** An instant as part of a file's name. */
const stamp = (instantMs: number): string => formatInstant(instantMs).replace(/[-:.]/g, "")

const toldOf = ({ file, path, facts, kept, otherShards, ofKey, hasKeys }: Restored) =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    const { pending, history, dead, bytes, takenAtMs } = facts
    yield* remark(
      `Restored ${path} from ${file}, as of ${formatInstant(takenAtMs)}: ${countOf(pending, "pending timer")}, ` +
        `${countShown(history)} in the history, ${countOf(dead, "dead letter")}; ${bytesShown(bytes)}.`,
    )
    if (kept !== undefined) yield* remark(`The old store is now ${kept}.`)
    if (otherShards !== undefined)
      yield* remark(`The store has ${countOf(otherShards, "shard")}: set TIMER_SHARDS to ${otherShards}.`)
    if (ofKey !== undefined) yield* remark(ofKey)
    if (hasKeys) yield* remark(unconfirmedRemark)
  })

interface Sureness {
  /** This command has restored the store. */
  readonly isRestored: boolean
  readonly isForced: boolean
}

const settledAs = (target: RestoreTarget, { beforeMs, choice }: Said, { isRestored, isForced }: Sureness) =>
  Effect.gen(function* () {
    const settling = yield* asCommandFailed(target.settling)
    const pause = yield* pauseOf(settling.namespaces)
    const isOfPunctual = isRestored || pause?.kind === "restored"
    if (!isOfPunctual && !isForced) {
      const message =
        "the store was not restored by punctual, or you have already decided about its timers. If you restored it with a tool of the database server, add --force."
      return yield* new CommandFailed({ message })
    }
    const settled = yield* settleOverdue(settling, beforeMs, choice)
    // Somebody has restored the store with a tool of the database server, which knows nothing about jobs and keys.
    if (!isOfPunctual) {
      const nowMs = yield* Clock.currentTimeMillis
      yield* asCommandFailed(stopBulkJobs(settling.documents, nowMs))
      const hasKeys = yield* asCommandFailed(unconfirmKeys(settling.documents, nowMs))
      if (hasKeys) yield* (yield* Output).remark(unconfirmedRemark)
    }
    return settled
  }).pipe(Effect.scoped)

/** What happens to one timer, and to several. */
const becameText: { readonly [choice in OverdueChoice]: readonly [string, string] } = {
  fire: ["fires when the service starts", "fire when the service starts"],
  dead: ["is now a dead letter", "are now dead letters"],
  discard: ["is cancelled", "are cancelled"],
}

const settledText = ({ beforeMs, choice }: Said, { due, pause }: Settled): string => {
  const next =
    pause === "kept"
      ? "The service stays paused for another reason. To resume: punctual resume."
      : "You can start the service now."
  const [one, many] = becameText[choice]
  const before = formatInstant(beforeMs)
  return due === 1
    ? `1 timer that was due before ${before} ${one}. ${next}`
    : `${countOf(due, "timer")} that were due before ${before} ${many}. ${next}`
}

const restoreJson = (
  restored: Restored | undefined,
  said: Said | undefined,
  settled: Settled | undefined,
): string => {
  const { takenAtMs, ...counts } = restored?.facts ?? { takenAtMs: undefined }
  return JSON.stringify(
    {
      ...(restored === undefined || takenAtMs === undefined
        ? {}
        : {
            restored: {
              file: restored.file,
              store: restored.path,
              takenAt: formatInstant(takenAtMs),
              ...counts,
              kept: restored.kept,
            },
          }),
      ...(said === undefined || settled === undefined
        ? {}
        : { settled: { dueBefore: formatInstant(said.beforeMs), fate: said.choice, timers: settled.due } }),
      isPaused: settled === undefined || settled.pause === "kept",
    },
    undefined,
    2,
  )
}
