// `punctual export`: writes everything in a store to stdout as lines. It reads the store as of one instant, beside a
// running service, and changes nothing.
import { Effect, Option, type Scope } from "effect"
import { Command, Flag } from "effect/cli"
import { keyOfArchived } from "../../domain/WriteItem.ts"
import { settingsKind, settingsOfDocument } from "../../engine/namespaces/SettingsRecords.ts"
import { endLine, headLine, itemLine, settingsLine } from "../../maintenance/ArchiveLine.ts"
import { namedMost } from "../../ports/StoreReport.ts"
import type { ArchivePlace, TimerArchive } from "../../ports/TimerArchive.ts"
import { told } from "../frame/asCommandFailed.ts"
import { CommandFailed, Output } from "../frame/CommandRuntime.ts"
import { countOf, countShown } from "../frame/figures.ts"

/** Opens the store that the flag or the settings name. */
export type OpenArchive = (
  storeUrl: string | undefined,
) => Effect.Effect<TimerArchive, { readonly message: string }, Scope.Scope>

/** A page easily fits into memory even with the largest payloads. */
const pageItems = 100
const progressEvery = 10_000

export const storeFlag = Flag.String("store").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription("The URL of the store (default TIMER_STORE_URL, or TIMER_DB_PATH)"),
  Flag.optional,
)

export const exportCommand = (open: OpenArchive) =>
  Command.make("export", { store: storeFlag }, ({ store }) =>
    Effect.gen(function* () {
      const archive = yield* Effect.mapError(
        open(Option.getOrUndefined(store)),
        ({ message }) => new CommandFailed({ message }),
      )
      yield* written(archive)
    }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Write pending timers, history, dead letters and settings to stdout, as JSON lines, for punctual import.",
        "  A service may run on the store. The export has the state of the store when the export began. Timers that",
        "  fire or change later do so only in the old store, so stop the service first if you move to a new store.",
      ].join("\n"),
    ),
    Command.withShortDescription("Write everything in a store to stdout"),
    Command.withExamples([
      { command: "punctual export --store sqlite:./data/punctual.db > punctual.jsonl" },
      { command: "punctual export --store sqlite:old.db | punctual import --store postgres://host/timers" },
    ]),
  )

const written = (archive: TimerArchive) =>
  Effect.gen(function* () {
    const { answer, remark } = yield* Output
    const counts = { pending: 0, history: 0, dead: 0 }
    yield* answer(headLine)
    const { count: settings, unreadable } = yield* writtenSettings(archive)
    let items = settings
    let after: ArchivePlace | undefined
    let leftOut = 0
    const namedLeftOut: Array<string> = []
    do {
      const page = yield* told(archive.page(after, pageItems))
      for (const item of page.items) {
        if (item.kind === "pending") counts.pending++
        else if (item.life.state === "dead") counts.dead++
        else counts.history++
      }
      for (const item of page.unreadable ?? []) {
        leftOut++
        const { namespace, timerId } = keyOfArchived(item)
        if (namedLeftOut.length < namedMost) namedLeftOut.push(`${namespace}/${timerId}`)
      }
      const before = items
      items += page.items.length
      if (page.items.length > 0) yield* answer(page.items.map(itemLine).join("\n"))
      if (Math.floor(items / progressEvery) > Math.floor(before / progressEvery)) {
        yield* remark(`${countOf(items, "line")} …`)
      }
      after = page.next
    } while (after !== undefined)
    yield* answer(endLine(items))
    yield* remark(
      `Exported ${countOf(counts.pending, "pending timer")}, ${countShown(counts.history)} in the history, ${countOf(counts.dead, "dead letter")}, and ${countOf(settings, "record", "records")} of settings.`,
    )
    const missing = [
      ...(unreadable.length === 0 ? [] : [`the settings of ${unreadable.join(", ")}`]),
      ...(leftOut === 0 ? [] : [`${countOf(leftOut, "timer")} (${shownOf(namedLeftOut, leftOut)})`]),
    ]
    if (missing.length > 0) {
      const message = `${missing.join(" and ")} cannot be read. The archive has everything else. See punctual doctor.`
      return yield* new CommandFailed({ message })
    }
  })

const shownOf = (named: ReadonlyArray<string>, count: number): string =>
  `${named.join(", ")}${count > named.length ? ` and ${count - named.length} more` : ""}`

/** Settings come before timers, so that an import knows what is paused before it has timers to fire. */
const writtenSettings = (archive: TimerArchive) =>
  Effect.gen(function* () {
    const { answer } = yield* Output
    const unreadable: Array<string> = []
    let count = 0
    let version = 0
    for (;;) {
      const page = (yield* told(archive.documents(settingsKind, version, pageItems))).map(settingsOfDocument)
      const records = page.filter(({ isUnreadable }) => isUnreadable !== true)
      if (records.length > 0) yield* answer(records.map(settingsLine).join("\n"))
      count += records.length
      for (const record of page) if (record.isUnreadable) unreadable.push(record.namespace)
      version = page.at(-1)?.version ?? version
      if (page.length < pageItems) return { count, unreadable }
    }
  })
