// Undeliverable messages as text for people: a table for many, a page for one.
import { formatInstant } from "@punctual/api/Instant"
import { memberSpan } from "@punctual/api/JsonSpan"
import type { ListedMessage, StoredMessage } from "@punctual/api/Messages"
import { CliOutput } from "effect/cli"
import { printable } from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import { layOutJson } from "../frame/layOutJson.ts"

/** `columns` is the width of the terminal. Without it, as for a file or a pipe, no text is cut. */
export const messageTable = (messages: ReadonlyArray<ListedMessage>, columns: number | undefined): string => {
  const isTerminal = columns !== undefined
  const rows = [tableHead, ...messages.map(tableRow)].map((row) =>
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
      // One column less than the terminal has, because some terminals begin a new line at the edge.
      const width = isTerminal ? columns - 1 - CliOutput.displayWidth(start) : error.length * 2
      return start + cutToWidth(error, Math.max(errorWidthMin, width))
    })
    .join("\n")
}

/** Everything about one message. `answerText` is the answer of the service, with the message unchanged. */
export const messagePage = (message: StoredMessage, answerText: string): string => {
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["id", message.id],
    ["namespace", message.namespace],
    ["stored at", formatInstant(message.storedAt)],
    ["reason", `${message.reason}: ${reasonMeanings[message.reason]}`],
    ["group", message.group],
    ["deliveries", String(message.deliveries)],
    ["first failure", failureText(message.firstFailure)],
    ["last failure", failureText(message.lastFailure)],
    ["type", message.type],
    ["about", message.aggregateId],
    ["message id", message.messageId],
    ["correlation", message.correlationId],
  ]
  const lines = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(15)}${printable(value)}`],
  )
  return [...lines, "", ...messageLines(message, answerText)].join("\n")
}

const tableHead = [
  "NAMESPACE",
  "ID",
  "STORED AT",
  "REASON",
  "GROUP",
  "DELIVERIES",
  "TYPE",
  "ABOUT",
  "LAST ERROR",
]

const lastColumn = tableHead.length - 1

const tableRow = (message: ListedMessage): ReadonlyArray<string> => [
  message.namespace,
  message.id,
  formatInstant(message.storedAt),
  message.reason,
  message.group ?? "-",
  String(message.deliveries),
  message.type ?? "-",
  message.aggregateId ?? "-",
  message.lastFailure.error,
]

const reasonMeanings: Readonly<Record<StoredMessage["reason"], string>> = {
  malformed: "the message could not be read",
  refused: "no further delivery could have succeeded",
  deliveriesExhausted: "it failed too often",
}

const failureText = ({ at, error }: StoredMessage["lastFailure"]): string => `${formatInstant(at)}  ${error}`

const messageLines = (
  { envelope, raw = "", messageBytes, isCut }: StoredMessage,
  answerText: string,
): ReadonlyArray<string> => {
  const size = countOf(messageBytes, "byte")
  if (envelope !== undefined) return [`message (${size}):`, layOutJson(envelopeIn(answerText))]
  const kind =
    isCut === true ? "only its beginning, because the message was too large to keep" : "it could not be read"
  return [
    `message (${size}, ${kind}), as base64:`,
    ...(raw.match(/.{1,76}/g) ?? []),
    "",
    "and as text:",
    printable(Buffer.from(raw, "base64").toString("utf8")),
  ]
}

const envelopeIn = (answerText: string): string => {
  const message = memberSpan(answerText, "message")
  const text = message === undefined ? "" : answerText.slice(message.start, message.end)
  const envelope = memberSpan(text, "envelope")
  return envelope === undefined ? "" : text.slice(envelope.start, envelope.end)
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

/** On a narrow terminal the error wraps, because a shorter text would be useless. */
const errorWidthMin = 30
