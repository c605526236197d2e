/** A call as a Go program, in the form that gofmt gives it. */
import { type ClientCall, capitalized, clientCallOf, isObject, type Json } from "./clientCall.ts"
import { type CallToCopy, keyVariable, requestText, type ServiceToCall } from "./copyAs.ts"

/** `undefined` if the client library has no call for it. */
export const goText = (call: CallToCopy, { url, needsKey }: ServiceToCall): string | undefined => {
  const known = clientCallOf(call)
  if (known === undefined) return undefined
  const request = requestOf(known)
  // A form may hold text that is no time yet. The service then says what is wrong with it.
  const asked =
    request === undefined
      ? `client.Do(context.Background(), "timers.${operations[known.method]}", json.RawMessage(${quoted(requestText(call.members))}))`
      : `client.Timers.${capitalized(known.method)}(context.Background(), ${request})`
  const program = `func main() {
${needsKey ? `\t// The client reads the key from ${keyVariable}.\n` : ""}\tclient, err := punctual.New(punctual.Options{URL: ${JSON.stringify(url)}})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := ${asked}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\\n", answer)
}`
  const standard = ["context", "encoding/json", "fmt", "log", "time"].filter((path) =>
    program.includes(`${path.split("/").at(-1)}.`),
  )
  const imports = [...standard.map((path) => `\t"${path}"`), "", '\tpunctual "punctual.dev/client"']
  return ["package main", "", "import (", ...imports, ")", "", program].join("\n")
}

const operations = { create: "create", update: "update", get: "get", cancel: "delete" } as const

/** The literal of the request; undefined if a value does not fit the types. */
const requestOf = ({ method, fields, payload }: ClientCall): string | undefined => {
  const cleared = [...fields].flatMap(([name, value]) => (value === null ? [name] : []))
  if (payload === "null" && method === "update") cleared.push("payload")
  const lines: Array<readonly [string, string]> = []
  for (const [name, value] of fields) {
    if (value === null) continue
    const text = textOfValue(name, value)
    if (text === undefined) return undefined
    lines.push([goName(name), text])
  }
  if (payload !== undefined && !cleared.includes("payload"))
    lines.push(["Payload", `json.RawMessage(${quoted(payload)})`])
  if (cleared.length > 0) lines.push(["Clear", strings(cleared)])
  return `punctual.${capitalized(method)}Timer${literal(lines, "\t")}`
}

const textOfValue = (name: string, value: Json): string | undefined => {
  if (name === "executeAt") return typeof value === "string" ? timeOf(value) : undefined
  if (durations.has(name)) return typeof value === "string" ? durationOf(value) : undefined
  if (name === "target" || name === "onDead") return isObject(value) ? structOf("Target", value) : undefined
  if (name === "retryPolicy") return isObject(value) ? structOf("RetryPolicy", value) : undefined
  if (name === "type" && (value === "webhook" || value === "event"))
    return `punctual.Target${capitalized(value)}`
  if (name === "waits" && Array.isArray(value)) return waitsOf(value)
  // It is a pointer, which has no literal.
  if (name === "jitter") return undefined
  if (Array.isArray(value)) return strings(value.map(String))
  if (isObject(value)) return mapOf(value)
  return JSON.stringify(value)
}

const durations: ReadonlySet<string> = new Set([
  "delay",
  "expireAfter",
  "timeout",
  "initialInterval",
  "maxInterval",
  "maxDuration",
])

const structOf = (type: string, value: { readonly [name: string]: Json }): string | undefined => {
  const lines: Array<readonly [string, string]> = []
  for (const [name, member] of Object.entries(value)) {
    const text = textOfValue(name, member)
    if (text === undefined) return undefined
    lines.push([goName(name), text])
  }
  return `&punctual.${type}${literal(lines, "\t\t")}`
}

const waitsOf = (waits: ReadonlyArray<Json>): string | undefined => {
  const texts = waits.map((wait) => (typeof wait === "string" ? durationOf(wait) : undefined))
  return texts.includes(undefined) ? undefined : `[]time.Duration{${texts.join(", ")}}`
}

const mapOf = (value: { readonly [name: string]: Json }): string =>
  `map[string]string{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}: ${JSON.stringify(String(member))}`)
    .join(", ")}}`

const strings = (values: ReadonlyArray<string>): string =>
  `[]string{${values.map((value) => JSON.stringify(value)).join(", ")}}`

/** gofmt aligns the values of neighbouring lines. A value of several lines ends the group. */
const literal = (fields: ReadonlyArray<readonly [string, string]>, indent: string): string => {
  if (fields.length === 0) return "{}"
  const lines: Array<string> = []
  for (let first = 0; first < fields.length; ) {
    let end = first + 1
    const isLong = (index: number) => fields[index]?.[1].includes("\n") === true
    while (end < fields.length && !isLong(end) && !isLong(first)) end++
    const group = fields.slice(first, end)
    const width = Math.max(...group.map(([name]) => name.length)) + 2
    for (const [name, value] of group) lines.push(`${indent}\t${`${name}:`.padEnd(width)}${value},`)
    first = end
  }
  return `{\n${lines.join("\n")}\n${indent}}`
}

const goNames: Readonly<Record<string, string>> = {
  timerId: "TimerID",
  callbackUrl: "CallbackURL",
  correlationId: "CorrelationID",
  url: "URL",
}

const goName = (name: string): string => goNames[name] ?? capitalized(name)

/** A raw literal shows JSON as it is. It cannot hold a backquote, and it drops carriage returns. */
const quoted = (text: string): string => (/[`\r\ufeff]/.test(text) ? JSON.stringify(text) : `\`${text}\``)

const timeOf = (text: string): string | undefined => {
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) return undefined
  const parts = [
    at.getUTCFullYear(),
    `time.${months[at.getUTCMonth()]}`,
    at.getUTCDate(),
    at.getUTCHours(),
    at.getUTCMinutes(),
    at.getUTCSeconds(),
    at.getUTCMilliseconds() * 1_000_000,
  ]
  return `time.Date(${parts.join(", ")}, time.UTC)`
}

const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]

const units = [
  { letters: "d", ms: 86_400_000, text: "punctual.Day" },
  { letters: "h", ms: 3_600_000, text: "time.Hour" },
  { letters: "m", ms: 60_000, text: "time.Minute" },
  { letters: "s", ms: 1_000, text: "time.Second" },
  { letters: "ms", ms: 1, text: "time.Millisecond" },
]

/** In the largest unit that gives a whole number. */
const durationOf = (text: string): string | undefined => {
  if (!/^(?:\d+(?:ms|[dhms]))+$/.test(text)) return undefined
  let ms = 0
  for (const [, number, letters] of text.matchAll(/(\d+)(ms|[dhms])/g))
    ms += Number(number) * (units.find((unit) => unit.letters === letters)?.ms ?? 0)
  if (ms === 0 || !Number.isSafeInteger(ms)) return undefined
  const unit = units.find((candidate) => ms % candidate.ms === 0)
  if (unit === undefined) return undefined
  return ms === unit.ms ? unit.text : `${ms / unit.ms} * ${unit.text}`
}
