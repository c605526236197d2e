// `punctual timers create --from`: creates the timers of a file in batches and reports on each line. The file may be of
// any size, because only one batch is in memory.
import { createReadStream } from "node:fs"
import { createResults, makeCreateTimer } from "@punctual/api/CreateTimer"
import { fieldErrors } from "@punctual/api/invalidRequest"
import { defaultLimits } from "@punctual/api/Limits"
import { requestParseOptions } from "@punctual/api/requestParseOptions"
import { Clock, Effect, Option, Result, SchemaParser } from "effect"
import { Flag } from "effect/cli"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import type { CommandInput } from "../client/ServiceClient.ts"
import { serviceNow } from "../client/serviceNow.ts"
import {
  CommandFailed,
  type CommandRun,
  misuse,
  Output,
  printable,
  switchFlag,
} from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import { linesOf } from "../store/LineSource.ts"
import { LineBatch, type LineResult } from "./LineBatch.ts"
import { fileFlag } from "./TimerFlags.ts"
import { type FileFormat, fileFormats, type TimerLine, type TimerLines, timerLines } from "./TimerLines.ts"

/** Half of a service's default limit. A service with a lower limit gets smaller parts. */
const batchItems = 500
const batchChars = 4 * 1024 * 1024
const progressEvery = 10_000

export const fromFlags = {
  from: fileFlag(
    "from",
    "Create the timers in this file, one on each line: JSON Lines (.jsonl) or CSV (.csv)",
  ),
  format: Flag.Literals("format", fileFormats).pipe(
    Flag.withMetavar("FORMAT"),
    Flag.withDescription("With --from: jsonl or csv, if the file name does not show it"),
    Flag.optional,
  ),
  dryRun: switchFlag("dry-run", "With --from: check the file and send nothing"),
}

/** The part of create's help that is about files. */
export const fromHelp = [
  "  --from FILE creates many: one JSON object per line with the fields of /timers/create, or CSV whose first line names",
  "  the fields (quoted as in RFC 4180; target, payload, retryPolicy and onDead as JSON, tags separated by ;). NAMESPACE and",
  "  --on-existing are for lines without these fields. The report has one line per timer: created, replaced, unchanged,",
  "  alreadyFinished, uncertain, or failed with the reason. A line with onExisting fail is uncertain if the service did not",
  "  answer its first try and a second try found the timer: this command created the timer, or it was already there.",
  "  The exit code is 1 if a line is uncertain or failed.",
  "  After a failure you can safely send a file again if its lines have a timerId and an executeAt. Lines without a timerId",
  "  get a random one, so a second run creates them twice. A delay counts from the start of the command, by the clock",
  "  of the service, so a second run moves the timer. --dry-run checks with the default limits, without a service.",
  "  The service may still refuse such lines, for example because of a quota or the egress rules.",
]

export interface FromAsked {
  readonly from: string
  readonly format: Option.Option<FileFormat>
  readonly dryRun: boolean
  readonly namespace: string | undefined
  readonly onExisting: string | undefined
  readonly service: ServiceAddress
  readonly json: boolean
}

export const createFrom = (input: CommandInput, asked: FromAsked): CommandRun =>
  Effect.gen(function* () {
    const { from, service, json, dryRun, namespace, onExisting } = asked
    const format = Option.getOrUndefined(asked.format) ?? formatOf(from)
    if (format === undefined) {
      const message = "Give the format of the file: --format jsonl or --format csv."
      return yield* Effect.fail(misuse(["timers", "create"], message))
    }
    const nowMs = dryRun ? yield* Clock.currentTimeMillis : yield* serviceNow(service)
    const chunks = from === "-" ? input.stdin() : createReadStream(from)
    const lines = yield* linesOf({ chunks }, from === "-" ? "stdin" : printable(from))
    const timers = yield* timerLines(lines, format, {
      nowMs,
      ...(namespace === undefined ? {} : { namespace }),
      ...(onExisting === undefined ? {} : { onExisting }),
    })
    const report = new Report(json, dryRun)
    const stopped = yield* dryRun ? checkAll(timers, report) : sendAll(service, timers, report)
    yield* report.summary
    if (stopped !== undefined) {
      return yield* new CommandFailed({
        message: `stopped after line ${report.lastLine}: ${stopped} Later lines were not sent: run the command again with the same file.`,
      })
    }
    const { failed, uncertain } = report
    if (failed + uncertain > 0) {
      const what = [
        ...(failed === 0 ? [] : [`${countOf(failed, "line")} failed`]),
        ...(uncertain === 0
          ? []
          : [`${countOf(uncertain, "line")} ${uncertain === 1 ? "is" : "are"} uncertain`]),
      ]
      return yield* new CommandFailed({ message: `${what.join(", ")}: see the report.` })
    }
  }).pipe(Effect.scoped)

const formatOf = (file: string): FileFormat | undefined => {
  if (/\.(jsonl|ndjson)$/i.test(file)) return "jsonl"
  return /\.csv$/i.test(file) ? "csv" : undefined
}

/** Returns why the command stopped before the end of the file; `undefined` if it sent everything. */
const sendAll = (service: ServiceAddress, timers: TimerLines, report: Report) =>
  Effect.gen(function* () {
    let gathered: Array<TimerLine> = []
    let chars = 0
    const flush = Effect.gen(function* () {
      const batch = new LineBatch(service, gathered)
      gathered = []
      chars = 0
      const stopped = yield* batch.send
      yield* report.add(batch.lines, (index) => batch.resultOf(index))
      return stopped
    })
    for (;;) {
      const read = yield* Effect.result(timers.next)
      const timer = Result.isSuccess(read) ? read.success : undefined
      if (timer !== undefined) {
        gathered.push(timer)
        chars += "json" in timer.item ? timer.item.json.length : 0
        if (gathered.length < batchItems && chars < batchChars) continue
      }
      const stopped = gathered.length === 0 ? undefined : yield* flush
      if (stopped !== undefined) return stopped
      // The lines before the unreadable one are already sent.
      if (Result.isFailure(read)) return `${read.failure.message}`
      if (timer === undefined) return undefined
    }
  })

/** Checks only the schema of the contract. Only the service can check quotas and the like. */
const checkAll = (timers: TimerLines, report: Report) =>
  Effect.gen(function* () {
    const decode = SchemaParser.decodeUnknownResult(makeCreateTimer(defaultLimits), requestParseOptions)
    for (;;) {
      const timer = yield* timers.next
      if (timer === undefined) return undefined
      yield* report.add([timer], () => checked(timer, decode))
    }
  })

const checked = (
  { item }: TimerLine,
  decode: (item: unknown) => Result.Result<unknown, Parameters<typeof fieldErrors>[0]>,
): LineResult | "ok" => {
  if ("problem" in item) return { kind: "failed", detail: item.problem }
  const decoded = decode(JSON.parse(item.json))
  if (Result.isSuccess(decoded)) return "ok"
  const errors = fieldErrors(decoded.failure)
  return {
    kind: "failed",
    detail: errors.map(({ pointer, detail }) => `${pointer} ${detail}`.trim()).join("; "),
    errors,
  }
}

/** The summary for people leaves these out if there are none. */
const rareResults: ReadonlySet<string> = new Set(["alreadyFinished", "uncertain", "failed"])

class Report {
  failed = 0
  uncertain = 0
  lastLine = 0
  readonly #json: boolean
  readonly #isDryRun: boolean
  readonly #counts = new Map<string, number>()
  #lines = 0

  constructor(json: boolean, isDryRun: boolean) {
    this.#json = json
    this.#isDryRun = isDryRun
  }

  add(lines: ReadonlyArray<TimerLine>, resultOf: (index: number) => LineResult | "ok") {
    return Effect.gen({ self: this }, function* () {
      const { answer, remark, columns } = yield* Output
      const texts = lines.map((line, index) => this.#note(line, resultOf(index)))
      yield* answer(texts.join("\n"))
      // On a terminal the report itself shows the progress.
      const passed =
        Math.floor(this.#lines / progressEvery) > Math.floor((this.#lines - lines.length) / progressEvery)
      if (passed && columns === undefined) yield* remark(`${this.#lines} lines …`)
    })
  }

  get summary() {
    return Effect.gen({ self: this }, function* () {
      const { answer } = yield* Output
      const names = this.#isDryRun ? ["ok", "failed"] : [...createResults, "uncertain", "failed"]
      const counts = names.map((name) => [name, this.#counts.get(name) ?? 0] as const)
      if (this.#json) {
        return yield* answer(JSON.stringify({ lines: this.#lines, ...Object.fromEntries(counts) }))
      }
      const what = counts.flatMap(([name, count]) =>
        count === 0 && rareResults.has(name) ? [] : [`${count} ${name}`],
      )
      const timers = this.#lines === 1 ? "1 timer" : `${this.#lines} timers`
      const nothing = this.#isDryRun
        ? " Nothing was sent. The service may still refuse lines, for example because of a quota or the egress rules."
        : ""
      yield* answer(`${timers}: ${what.join(", ")}.${nothing}`)
    })
  }

  #note({ line, namespace, timerId }: TimerLine, result: LineResult | "ok"): string {
    this.#lines++
    this.lastLine = line
    const name = result === "ok" ? "ok" : result.kind === "done" ? result.item.result : result.kind
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    if (name === "failed") this.failed++
    if (name === "uncertain") this.uncertain++
    if (this.#json) {
      const more =
        result === "ok" ? {} : result.kind === "done" ? result.item : { ...result, kind: undefined }
      return JSON.stringify({ line, namespace, timerId, ...more, result: name })
    }
    const key = namespace === undefined ? "" : `  ${namespace}/${timerId ?? ""}`
    const why = result !== "ok" && result.kind !== "done" ? `  ${result.detail}` : ""
    return printable(`line ${line}  ${name}${key}${why}`)
  }
}
