// `punctual import`: reads the lines of an archive into a store that no service runs on. It overwrites nothing and
// skips items that are already in the store, so an interrupted import can be run again.
import { isDeepStrictEqual } from "node:util"
import { deadIdPrefix } from "@punctual/api/TimerId"
import { Effect, Option, Result, type Scope } from "effect"
import { Command } from "effect/cli"
import { type ArchivedItem, keyOfArchived, type WriteAnswer } from "../../domain/WriteItem.ts"
import type { SettingsRecords } from "../../engine/namespaces/SettingsRecords.ts"
import { type ArchivedSettings, readLine, whyNoArchive } from "../../maintenance/ArchiveLine.ts"
import type { HeldStore, HoldTarget } from "../../maintenance/HeldStore.ts"
import { told } from "../frame/asCommandFailed.ts"
import { CommandFailed, misuse, Output, printable, switchFlag } from "../frame/CommandRuntime.ts"
import { countOf, countShown } from "../frame/figures.ts"
import { storeFlag } from "./exportArchive.ts"
import { type LineSource, linesOf } from "./LineSource.ts"
import { holdForCommand, tellHoldFailure } from "./storeHold.ts"

export interface ImportTarget extends HoldTarget {
  readonly namespaces: Pick<SettingsRecords, "get" | "put">
}

/** Opens the store that the flag or the settings name, and creates it if it does not exist. */
export type OpenImportTarget = (
  storeUrl: string | undefined,
) => Effect.Effect<ImportTarget, { readonly message: string }, Scope.Scope>

const progressEvery = 10_000
/** The command names at most this many items that it left out. It only counts the others. */
const namedMax = 20

export const importCommand = (open: OpenImportTarget, givenLines: () => LineSource) =>
  Command.make(
    "import",
    {
      store: storeFlag,
      partial: switchFlag("partial", "Import an incomplete archive, as far as it goes"),
      json: switchFlag("json", "Print one JSON object"),
    },
    ({ store, partial, json }) =>
      Effect.gen(function* () {
        const source = givenLines()
        if (source.isTerminal) {
          return yield* Effect.fail(
            misuse(["import"], "Give an archive on stdin: punctual import < punctual.jsonl"),
          )
        }
        if (!partial && source.lastLine !== undefined && !isEnd(source.lastLine))
          return yield* cutOff(undefined)
        const lines = yield* linesOf(source)
        const head = yield* lines.next
        const why = head === undefined ? "there is nothing to import" : whyNoArchive(head)
        if (why !== undefined) return yield* new CommandFailed({ message: `${why}.` })
        const target = yield* Effect.mapError(
          open(Option.getOrUndefined(store)),
          ({ message }) => new CommandFailed({ message }),
        )
        const run = new ImportRun(target, yield* holdForCommand(target))
        const isWhole = yield* run.readAll(lines.next)
        yield* run.summary(isWhole, json)
        if (!isWhole && !partial) return yield* cutOff(run.seen)
        if (run.isIncomplete) {
          return yield* new CommandFailed({
            message: "some items differ in the store or could not be stored: see above.",
          })
        }
      }).pipe((run) => tellHoldFailure("import", run), Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Read an archive of punctual export from stdin into a store. The command creates the store if it does not exist.",
        "  No service may run on the store meanwhile. The command overwrites nothing, and it skips items that are already in",
        "  the store. So you can run an interrupted import again with the same file.",
        "  The exit code is 0 if everything is in the store, 1 if something is not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Read an archive of export from stdin into a store"),
    Command.withExamples([{ command: "TIMER_CONFIG=/etc/punctual.env punctual import < punctual.jsonl" }]),
  )

/**
 * The id of a call of onDead is derived from the arming that died. Another timer with such an id would keep the service
 * from making that call.
 */
const isFalseNotice = (item: ArchivedItem): boolean => {
  const { timerId, spec } = item.kind === "pending" ? item.timer : item.life
  return timerId.startsWith(deadIdPrefix) && timerId !== `${deadIdPrefix}${spec.death?.fireId}`
}

const isEnd = (line: string): boolean => {
  const read = readLine(line)
  return Result.isSuccess(read) && read.success.kind === "end"
}

const cutOff = (seen: number | undefined): Effect.Effect<never, CommandFailed> =>
  Effect.fail(
    new CommandFailed({
      message: `the archive is incomplete: its last line is missing. ${
        seen === undefined
          ? "Nothing was imported."
          : `The items of its first ${countOf(seen, "line")} stay in the store.`
      } Import a complete archive, or import this one as far as it goes with --partial.`,
    }),
  )

class ImportRun {
  readonly #target: ImportTarget
  readonly #held: HeldStore
  readonly #counts = { restored: 0, present: 0, differs: 0, unstorable: 0 }
  /** Remarks about items that were left out. */
  #remarks: Array<string> = []
  #named = 0
  /** The number of items read. */
  seen = 0

  constructor(target: ImportTarget, held: HeldStore) {
    this.#target = target
    this.#held = held
  }

  get isIncomplete(): boolean {
    return this.#counts.differs + this.#counts.unstorable > 0
  }

  /** Returns whether the archive has its last line. */
  readAll(next: Effect.Effect<string | undefined, CommandFailed>) {
    const self = this
    return Effect.gen(function* () {
      let isWhole = false
      for (;;) {
        const line = yield* next
        if (line === undefined) break
        const read = isWhole ? Result.fail("nothing may follow the archive's last line") : readLine(line)
        if (Result.isFailure(read)) {
          yield* self.#flush
          const message = `line ${self.seen + 2} is wrong: ${printable(read.failure)}. The lines before it are imported.`
          return yield* new CommandFailed({ message })
        }
        if (read.success.kind === "end") {
          if (read.success.items === self.seen) {
            isWhole = true
            continue
          }
          yield* self.#flush
          const message = `the archive has ${countOf(self.seen, "item")}, but its last line says ${countShown(read.success.items)}: lines are missing.`
          return yield* new CommandFailed({ message })
        }
        self.seen++
        if (read.success.kind === "item") yield* self.#take(read.success.item)
        else yield* self.#set(read.success.record)
        if (self.seen % progressEvery === 0) yield* self.#tellProgress
      }
      yield* self.#flush
      return isWhole
    })
  }

  summary(isWhole: boolean, json: boolean) {
    return Effect.gen({ self: this }, function* () {
      const { restored, present, differs, unstorable } = this.#counts
      const { answer, remark } = yield* Output
      if (json) return yield* answer(JSON.stringify({ ...this.#counts, isWhole }, undefined, 2))
      yield* remark(
        `Imported: ${countShown(restored)}. Already present: ${countShown(present)}. Different in the store: ${countShown(differs)}. Cannot be stored: ${countShown(unstorable)}.`,
      )
    })
  }

  #take(archived: ArchivedItem) {
    if (isFalseNotice(archived)) {
      this.#counts.unstorable++
      this.#leaveOut(
        archived,
        `cannot be stored: only calls of onDead have an id that begins with ${deadIdPrefix}`,
      )
      return this.#tellLeftOut
    }
    const written = this.#held.write({ kind: "restore", archived }, (answer) => this.#note(archived, answer))
    return this.#remarks.length === 0 ? written : Effect.andThen(this.#tellLeftOut, written)
  }

  /** Imports settings only if the store has none for the namespace. Existing settings stay. */
  #set(record: ArchivedSettings) {
    return Effect.gen({ self: this }, function* () {
      const { namespaces } = this.#target
      const there = yield* told(namespaces.get(record.namespace))
      const stored = there.version > 0 ? undefined : yield* told(namespaces.put({ ...record, version: 0 }))
      if (stored !== undefined) {
        this.#counts.restored++
        return
      }
      if (isDeepStrictEqual(there.settings, record.settings)) {
        this.#counts.present++
        return
      }
      this.#counts.differs++
      yield* (yield* Output).remark(
        printable(`the settings of ${record.namespace} differ from the settings in the store`),
      )
    })
  }

  get #flush() {
    return Effect.andThen(this.#held.flush, this.#tellLeftOut)
  }

  /** Flushes first, so that the reported lines are stored. */
  get #tellProgress() {
    return Effect.andThen(
      this.#flush,
      Effect.flatMap(Output, ({ remark }) => remark(`${countOf(this.seen, "line")} …`)),
    )
  }

  get #tellLeftOut() {
    return Effect.gen({ self: this }, function* () {
      const { remark } = yield* Output
      for (const text of this.#remarks.splice(0)) yield* remark(text)
    })
  }

  /** Answers arrive in any order, while other work runs. Remarks about them are collected and printed later. */
  #note(item: ArchivedItem, answer: WriteAnswer): void {
    switch (answer.result) {
      case "restored":
      case "present":
        this.#counts[answer.result]++
        return
      case "differs":
        this.#counts.differs++
        this.#leaveOut(item, "differs from the timer in the store")
        return
      case "unstorable":
        this.#counts.unstorable++
        this.#leaveOut(item, `cannot be stored: ${answer.reason}`)
        return
      default:
        throw new Error(`a restore was answered ${answer.result}`)
    }
  }

  #leaveOut(item: ArchivedItem, why: string): void {
    if (this.#named === namedMax) return
    this.#named++
    const { namespace, timerId } = keyOfArchived(item)
    this.#remarks.push(printable(`${namespace}/${timerId} ${why}`))
  }
}
