// How dead letters are shown: as a table, as a page for one of them, and as JSON for programs.
import {
  type DeadLetter,
  type DeadLetterFacts,
  encodeDeadLetter,
  type Failure,
} from "@punctual/api/DeadLetter"
import { parseJson } from "@punctual/api/Envelope"
import { formatInstant } from "@punctual/api/Instant"
import { Result } from "effect"
import { CliOutput } from "effect/cli"
import type { DeadLetterEntry } from "../../ports/Bus.ts"
import { printable } from "../frame/CommandRuntime.ts"
import { layOutJson } from "../frame/layOutJson.ts"

/** The width is that of the terminal; what goes to a file or a pipe is not cut. */
export const deadLetterTable = (
  entries: ReadonlyArray<DeadLetterEntry>,
  columns: number | undefined,
): string => {
  const isTerminal = columns !== undefined
  const rows = [tableHead, ...entries.map(tableRow)].map((row) =>
    row.map((cell, column) => {
      const text = printable(cell)
      return isTerminal && column < lastColumn ? cutToWidth(text, cellWidthMax) : text
    }),
  )
  const widths = tableHead.map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, CliOutput.displayWidth(row[column] ?? "")), 0),
  )
  return rows
    .map((row) => {
      const cells = row.slice(0, lastColumn).map((cell, column) => `${padded(cell, widths[column] ?? 0)}  `)
      const start = cells.join("")
      const error = row[lastColumn] ?? ""
      // One column short of the edge, where some terminals would begin a new line.
      const width = isTerminal ? columns - 1 - CliOutput.displayWidth(start) : error.length * 2
      return start + cutToWidth(error, Math.max(errorWidthMin, width))
    })
    .join("\n")
}

/** Everything about one of them, and the message. */
export const deadLetterPage = ({ id, tenant, diedAt, letter, original }: DeadLetterEntry): string => {
  const { envelope } = letter
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["id", id],
    ["tenant", tenant],
    ["died at", formatInstant(diedAt)],
    ["reason", `${letter.reason}: ${reasonMeanings[letter.reason]}`],
    ["deliveries", String(letter.deliveries)],
    ["first failure", failureText(letter.firstFailure)],
    ["last failure", failureText(letter.lastFailure)],
    ["type", envelope?.type],
    ["service call", envelope?.aggregateId],
    ["message id", envelope?.id],
    ["sent at", envelope === undefined ? undefined : formatInstant(envelope.timestampMs)],
    ["correlation", envelope?.correlationId],
    ["causation", envelope?.causationId],
  ]
  const lines = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(15)}${printable(value)}`],
  )
  return [...lines, "", ...messageLines(letter, original)].join("\n")
}

/** Without its message. */
export const deadLetterSummary = ({ id, tenant, diedAt, letter, original }: DeadLetterEntry) => ({
  id,
  tenant,
  diedAt: formatInstant(diedAt),
  reason: letter.reason,
  deliveries: letter.deliveries,
  type: letter.envelope?.type,
  serviceCallId: letter.envelope?.aggregateId,
  correlationId: letter.envelope?.correlationId,
  firstFailure: failureJson(letter.firstFailure),
  lastFailure: failureJson(letter.lastFailure),
  messageBytes: original.byteLength,
  isCut: letter.isCut,
})

/** With its message, as the dead letter's own record has it: `envelope` as it came, or `raw` as base64. */
export const deadLetterJson = ({ id, tenant, diedAt, letter, original }: DeadLetterEntry): string => {
  const { envelope: _, raw: __, ...facts } = letter
  const record = new TextDecoder().decode(encodeDeadLetter(facts satisfies DeadLetterFacts, original))
  const head = JSON.stringify({ id, tenant, diedAt: formatInstant(diedAt) })
  return layOutJson(`${head.slice(0, -1)},${record.slice(1)}`)
}

const tableHead = ["ID", "DIED AT", "REASON", "DELIVERIES", "TYPE", "SERVICE CALL", "LAST ERROR"]

const lastColumn = tableHead.length - 1

const tableRow = ({ id, diedAt, letter }: DeadLetterEntry): ReadonlyArray<string> => [
  id,
  formatInstant(diedAt),
  letter.reason,
  String(letter.deliveries),
  letter.envelope?.type ?? "-",
  letter.envelope?.aggregateId ?? "-",
  letter.lastFailure.error,
]

const reasonMeanings: Readonly<Record<DeadLetter["reason"], string>> = {
  malformed: "it is no message that could be read",
  refused: "no further delivery could have succeeded",
  deliveriesExhausted: "it failed too often",
}

const failureText = ({ at, error }: Failure): string => `${formatInstant(at)}  ${error}`

const failureJson = ({ at, error }: Failure) => ({ at: formatInstant(at), error })

const messageLines = (letter: DeadLetter, original: Uint8Array): ReadonlyArray<string> => {
  const size = `${original.byteLength} bytes`
  if (letter.isCut !== true && Result.isSuccess(parseJson(original))) {
    return [`message (${size}):`, layOutJson(new TextDecoder().decode(original))]
  }
  const kind = letter.isCut === true ? "its beginning: it was too large to be kept whole" : "not JSON"
  const base64 = Buffer.from(original).toString("base64")
  return [
    `message (${size}, ${kind}), as base64:`,
    ...(base64.match(/.{1,76}/g) ?? []),
    "",
    "and as text:",
    printable(new TextDecoder().decode(original)),
  ]
}

const padded = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - CliOutput.displayWidth(text)))

const cutToWidth = (text: string, width: number): string => {
  if (CliOutput.displayWidth(text) <= width) return text
  let kept = ""
  let keptWidth = 0
  for (const character of text) {
    keptWidth += CliOutput.displayWidth(character)
    if (keptWidth > width - 1) break
    kept += character
  }
  return `${kept}…`
}

const cellWidthMax = 40

/** On a narrow terminal lines are rather wrapped than cut to where they say nothing. */
const errorWidthMin = 30
