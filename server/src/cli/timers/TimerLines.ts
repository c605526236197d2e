// Reads timers from a file, one on each line: JSON Lines, or CSV with a header that names the fields. Each line becomes
// one item of createMany, and the service checks it. Only one line is in memory here.
//
// A repeat must be safe, because a batch may be sent twice. So `delay` becomes an `executeAt`, counted from one instant
// for the whole file, and a line without an id gets one before it is sent.
import { randomUUID } from "node:crypto"
import { makeCreateTimer } from "@punctual/api/CreateTimer"
import { parseDuration } from "@punctual/api/DurationMs"
import { formatInstant } from "@punctual/api/Instant"
import { isNestedDeeper, memberSpan } from "@punctual/api/JsonSpan"
import { bodyForm, defaultLimits } from "@punctual/api/Limits"
import { Effect } from "effect"
import { CommandFailed } from "../frame/CommandRuntime.ts"
import type { Lines } from "../store/LineSource.ts"
import { CsvRecord } from "./CsvRecord.ts"

export const fileFormats = ["jsonl", "csv"] as const
export type FileFormat = (typeof fileFormats)[number]

/** Values for lines that leave a field out. */
export interface LineDefaults {
  readonly namespace?: string
  readonly onExisting?: string
  /** Delays count from this time. */
  readonly nowMs: number
}

export interface TimerLine {
  /** The number of its first line in the file, beginning with 1. */
  readonly line: number
  readonly namespace?: string
  readonly timerId?: string
  /** The item as JSON, or what is wrong with the line. */
  readonly item: { readonly json: string } | { readonly problem: string }
}

export interface TimerLines {
  /** The next line that is not blank; `undefined` at the end. */
  readonly next: Effect.Effect<TimerLine | undefined, CommandFailed>
}

export const timerLines = (
  lines: Lines,
  format: FileFormat,
  defaults: LineDefaults,
): Effect.Effect<TimerLines, CommandFailed> => {
  const numbered = new NumberedLines(lines)
  return format === "jsonl"
    ? Effect.succeed({ next: nextJson(numbered, defaults) })
    : Effect.map(csvHeader(numbered), (header) => ({ next: nextCsv(numbered, header, defaults) }))
}

/** Counts the lines as they are read. */
class NumberedLines {
  line = 0
  readonly #lines: Lines

  constructor(lines: Lines) {
    this.#lines = lines
  }

  /** The next line, which may be blank. */
  get next(): Effect.Effect<string | undefined, CommandFailed> {
    return this.#lines.next.pipe(
      Effect.tap(() => Effect.sync(() => this.line++)),
      Effect.mapError(
        ({ message }) =>
          new CommandFailed({ message: this.line === 0 ? message : `line ${this.line + 1}: ${message}` }),
      ),
    )
  }

  get nextFilled(): Effect.Effect<string | undefined, CommandFailed> {
    return Effect.repeat(this.next, { until: (text) => text === undefined || text.trim() !== "" })
  }
}

const nextJson = (lines: NumberedLines, defaults: LineDefaults) =>
  Effect.map(lines.nextFilled, (text): TimerLine | undefined => {
    if (text === undefined) return undefined
    const { line } = lines
    const fields = parsed(text)
    if (!isObject(fields)) {
      const problem =
        fields === undefined ? "is not JSON" : "must be a JSON object with the fields of a timer"
      return { line, item: { problem } }
    }
    const payload = memberSpan(text, "payload")
    return timerLine(
      line,
      fields,
      payload === undefined ? undefined : text.slice(payload.start, payload.end),
      defaults,
    )
  })

const columns = Object.keys(makeCreateTimer(defaultLimits).fields)
/** Columns that hold JSON. All others hold text. */
const jsonColumns = ["target", "payload", "retryPolicy", "onDead"]
const tagsColumn = "tags"

const csvHeader = (lines: NumberedLines): Effect.Effect<ReadonlyArray<string>, CommandFailed> =>
  Effect.flatMap(nextRecord(lines), (found) => {
    const wrong = (message: string) =>
      Effect.fail(new CommandFailed({ message: `${message} Nothing was sent.` }))
    if (found === undefined) return wrong("the file is empty: the first line must name the fields.")
    const { fields, problem } = found.record
    if (problem !== undefined) return wrong(`the first line ${problem}.`)
    const names = fields.map((name) => name.trim())
    const unknown = names.find((name) => !columns.includes(name))
    if (unknown !== undefined) {
      const hint = unknown.includes(";") ? " Columns are separated by commas." : ""
      return wrong(
        `the first line must name the fields, and ${JSON.stringify(unknown.slice(0, 60))} is not a field: use ${columns.join(", ")}.${hint}`,
      )
    }
    const twice = names.find((name, index) => names.indexOf(name) < index)
    return twice === undefined ? Effect.succeed(names) : wrong(`the first line names ${twice} twice.`)
  })

const nextRecord = (lines: NumberedLines) =>
  Effect.gen(function* () {
    const first = yield* lines.nextFilled
    if (first === undefined) return undefined
    const { line } = lines
    const record = new CsvRecord()
    record.feed(first)
    let chars = first.length
    while (record.isOpen) {
      const text = yield* lines.next
      if (text === undefined) {
        record.problem = "has a quoted field that never ends"
        break
      }
      // With its line break: a record of empty lines must end, too.
      chars += text.length + 1
      if (chars > recordCharsMax) {
        record.problem = `has a quoted field of more than ${recordCharsMax} characters`
        break
      }
      record.feed(text)
    }
    return { record, line }
  })

/** Far more than a timer of the default limits has. A quote that is never closed ends here. */
const recordCharsMax = 512 * 1024

const nextCsv = (lines: NumberedLines, header: ReadonlyArray<string>, defaults: LineDefaults) =>
  Effect.gen(function* () {
    const found = yield* nextRecord(lines)
    if (found === undefined) return undefined
    const { record, line } = found
    if (record.problem !== undefined) return { line, item: { problem: record.problem } }
    if (record.fields.length !== header.length) {
      const problem = `has ${record.fields.length} fields, but the first line of the file names ${header.length}`
      return { line, item: { problem } }
    }
    const fields: Record<string, unknown> = {}
    let payload: string | undefined
    for (const [index, name] of header.entries()) {
      const text = record.fields[index] ?? ""
      // An empty field counts as left out.
      if (text === "") continue
      if (name === tagsColumn) fields[name] = text.split(";").map((tag) => tag.trim())
      else if (!jsonColumns.includes(name)) fields[name] = text
      else {
        const value = parsed(text)
        if (value === undefined) {
          const problem = `/${name} must be JSON (text needs quotes of its own: "hello")`
          return { line, ...keyOf(fields), item: { problem } }
        }
        fields[name] = value
        if (name === "payload") payload = text
      }
    }
    return timerLine(line, fields, payload, defaults)
  })

/** The payload stays as it is written: parsing it and writing it again would change large numbers. */
const timerLine = (
  line: number,
  given: Readonly<Record<string, unknown>>,
  payloadText: string | undefined,
  { namespace, onExisting, nowMs }: LineDefaults,
): TimerLine => {
  const { payload: _, delay, ...rest } = given
  const fields: Record<string, unknown> = {
    ...(namespace === undefined ? {} : { namespace }),
    timerId: randomUUID(),
    ...(onExisting === undefined ? {} : { onExisting }),
    ...rest,
  }
  const delayMs = typeof delay === "string" && !("executeAt" in rest) ? parseDuration(delay) : undefined
  const executeAtMs = delayMs === undefined ? undefined : nowMs + delayMs
  if (executeAtMs !== undefined && executeAtMs <= latestMs) fields["executeAt"] = formatInstant(executeAtMs)
  // An invalid duration goes to the service unchanged, and the service says what is wrong with it.
  else if (delay !== undefined) fields["delay"] = delay
  const own = JSON.stringify(fields)
  const json = payloadText === undefined ? own : `${own.slice(0, -1)},"payload":${payloadText}}`
  // The service would refuse the whole request, with all its other lines.
  const isTooDeep = isNestedDeeper(json, { start: 0, end: json.length }, bodyForm.depthMax - levelsAroundLine)
  const problem = `must not be nested deeper than ${bodyForm.depthMax} levels`
  return { line, ...keyOf(fields), item: isTooDeep ? { problem } : { json } }
}

/** The body of the request, and its array of timers. */
const levelsAroundLine = 2

/** The latest instant that the contract can express. */
const latestMs = Date.UTC(9999, 11, 31)

const keyOf = ({ namespace, timerId }: Readonly<Record<string, unknown>>) => ({
  ...(typeof namespace === "string" ? { namespace } : {}),
  ...(typeof timerId === "string" ? { timerId } : {}),
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
