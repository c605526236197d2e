// `punctual import`: the lines of an archive into a store that no service runs on. Nothing that is there is overwritten,
// and what is there already is passed over, so that an import that was broken off is simply run again.
import { isDeepStrictEqual } from "node:util"
import { Effect, Option, Result, Schedule, type Scope } from "effect"
import { Command } from "effect/cli"
import { type ArchivedItem, keyOfArchived, type RestoreResult } from "../domain/decideRestore.ts"
import { shardOf } from "../domain/TimerKey.ts"
import type { NamespaceStore } from "../ports/NamespaceStore.ts"
import type { ShardLeases } from "../ports/ShardLeases.ts"
import type { RestoreBatch, TimerRestore } from "../ports/TimerArchive.ts"
import { type ArchivedSettings, readLine, whyNoArchive } from "./ArchiveLine.ts"
import { CommandFailed, misuse, Output, printable, switchFlag } from "./CommandRuntime.ts"
import { storeFlag } from "./exportArchive.ts"
import { type LineSource, linesOf } from "./LineSource.ts"
import { holdShards, told } from "./ShardHold.ts"

export interface ImportTarget {
  readonly leases: ShardLeases["Service"]
  readonly restore: TimerRestore["Service"]["restore"]
  readonly namespaces: Pick<NamespaceStore["Service"], "get" | "put">
  /** What the import is called where others see who holds the store. */
  readonly node: string
}

/** Opens the store that the flag names, or the settings; it is made if there is none. */
export type OpenImportTarget = (
  storeUrl: string | undefined,
) => Effect.Effect<ImportTarget, { readonly message: string }, Scope.Scope>

const batchItems = 500
const batchBytes = 2 * 1024 * 1024
const progressEvery = 10_000
/** A database that restarts is back within this; what was sent before it went is not sent in vain. */
const retries = 10
const retryEveryMs = 1_000
/** More than this many that were left out are only counted. */
const namedMax = 20

export const importCommand = (open: OpenImportTarget, givenLines: () => LineSource) =>
  Command.make(
    "import",
    {
      store: storeFlag,
      partial: switchFlag("partial", "Take a file that was cut off, as far as it goes"),
      json: switchFlag("json", "Answer one JSON object"),
    },
    ({ store, partial, json }) =>
      Effect.gen(function* () {
        const source = givenLines()
        if (source.isTerminal) {
          return yield* Effect.fail(
            misuse(["import"], "Give it an archive: punctual import < punctual.jsonl"),
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
        const epochs = yield* holdShards(target.leases, target.node)
        const run = new ImportRun(target, epochs)
        const isWhole = yield* run.readAll(lines.next)
        yield* run.summary(isWhole, json)
        if (!isWhole && !partial) return yield* cutOff(run.seen)
        if (run.isIncomplete) {
          return yield* new CommandFailed({
            message: "some of it is not in the store as the archive has it: see above.",
          })
        }
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Read what punctual export wrote from stdin into a store, which is made if there is none.",
        "  No service may run on the store meanwhile. What is there is never overwritten, and what is there already",
        "  is passed over: an import that was broken off is run again with the same file.",
        "  The exit code is 0 if all of it is in the store, 1 if something is not, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Read what export wrote from stdin into a store"),
    Command.withExamples([{ command: "punctual import --store postgres://host/timers < punctual.jsonl" }]),
  )

const isEnd = (line: string): boolean => {
  const read = readLine(line)
  return Result.isSuccess(read) && read.success.kind === "end"
}

const cutOff = (seen: number | undefined): Effect.Effect<never, CommandFailed> =>
  Effect.fail(
    new CommandFailed({
      message: `the archive was cut off: its last line is missing. ${
        seen === undefined
          ? "Nothing was imported"
          : `What was imported of its first ${seen} timers and lives stays`
      }: import a whole one, or take this as far as it goes with --partial.`,
    }),
  )

class ImportRun {
  readonly #target: ImportTarget
  readonly #epochs: ReadonlyArray<number>
  readonly #counts = { restored: 0, present: 0, differs: 0, unstorable: 0 }
  #items: Array<ArchivedItem> = []
  #bytes = 0
  #named = 0
  /** Items that were read. */
  seen = 0

  constructor(target: ImportTarget, epochs: ReadonlyArray<number>) {
    this.#target = target
    this.#epochs = epochs
  }

  get isIncomplete(): boolean {
    return this.#counts.differs + this.#counts.unstorable > 0
  }

  /** Whether the archive's last line was there. */
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
          const message = `line ${self.seen + 2} is wrong: ${printable(read.failure)}. What came before it is imported.`
          return yield* new CommandFailed({ message })
        }
        if (read.success.kind === "item") yield* self.#take(read.success.item)
        else if (read.success.kind === "settings") yield* self.#set(read.success.record)
        else if (read.success.items === self.seen) isWhole = true
        else {
          const message = `the archive has ${self.seen} items, and ${read.success.items} were written to it: lines of it are missing.`
          return yield* new CommandFailed({ message })
        }
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
        `Imported ${restored}; ${present} were there already, ${differs} differ from what is there, ${unstorable} cannot be stored.`,
      )
    })
  }

  #take(item: ArchivedItem) {
    this.#items.push(item)
    this.#bytes += keyOfArchived(item).payload?.byteLength ?? 0
    this.seen++
    return this.#items.length < batchItems && this.#bytes < batchBytes ? Effect.void : this.#flush
  }

  /** Where nothing was ever set. What is set there stands. */
  #set(record: ArchivedSettings) {
    return Effect.gen({ self: this }, function* () {
      const { namespaces } = this.#target
      this.seen++
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
        printable(`the settings of ${record.namespace} differ from what is there`),
      )
    })
  }

  get #flush() {
    return Effect.gen({ self: this }, function* () {
      const items = this.#items
      if (items.length === 0) return
      this.#items = []
      this.#bytes = 0
      const batches = batchesOf(items, this.#epochs)
      // What may have been done already is then present: a repeat is harmless.
      const answers = yield* this.#target.restore(batches).pipe(
        Effect.retry({
          times: retries,
          schedule: Schedule.spaced(retryEveryMs),
          while: ({ isFatal }) => !isFatal,
        }),
        told,
      )
      for (const [index, answer] of answers.entries()) {
        if (answer.result === "ownershipLost") {
          const message =
            "a service has taken the store over: stop every service on it, and run the import again."
          return yield* new CommandFailed({ message })
        }
        for (const [place, result] of answer.results.entries()) {
          const item = batches[index]?.items[place]
          if (item !== undefined) yield* this.#note(item, result)
        }
      }
      const before = this.seen - items.length
      if (Math.floor(this.seen / progressEvery) > Math.floor(before / progressEvery)) {
        yield* (yield* Output).remark(`${this.seen} lines …`)
      }
    })
  }

  #note(item: ArchivedItem, result: RestoreResult) {
    this.#counts[result.result]++
    const isLeftOut = result.result === "differs" || result.result === "unstorable"
    if (!isLeftOut || this.#named === namedMax) return Effect.void
    this.#named++
    const { namespace, timerId } = keyOfArchived(item)
    const why =
      result.result === "unstorable" ? `cannot be stored: ${result.reason}` : "differs from what is there"
    return Effect.flatMap(Output, ({ remark }) => remark(printable(`${namespace}/${timerId} ${why}`)))
  }
}

const batchesOf = (
  items: ReadonlyArray<ArchivedItem>,
  epochs: ReadonlyArray<number>,
): ReadonlyArray<RestoreBatch> => {
  const byShard = new Map<number, Array<ArchivedItem>>()
  for (const item of items) {
    const shard = shardOf(keyOfArchived(item).uuid, epochs.length)
    const own = byShard.get(shard)
    if (own === undefined) byShard.set(shard, [item])
    else own.push(item)
  }
  return [...byShard].map(([shard, own]) => ({ shard, epoch: epochs[shard] ?? Number.NaN, items: own }))
}
