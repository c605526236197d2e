// A receiver to try timers against: it prints each delivery on one line and answers as it is told to, so
// that retries, slow endpoints and refusals can be watched without writing a server first.
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant } from "@punctual/api/Instant"
import { memberSpan } from "@punctual/api/JsonSpan"

/** Where the command speaks, and what ends it. */
export interface Terminal {
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  readonly untilStopped: () => Promise<void>
}

interface ListenOptions {
  readonly port: number
  readonly answer: number
  readonly failFirst: number
  readonly delayMs: number
}

/** Runs until it is stopped. Answers the exit code: 1 if it could not listen, 2 if it was called wrongly. */
export const listen = async (
  args: ReadonlyArray<string>,
  terminal: Terminal = processTerminal,
): Promise<number> => {
  if (args.includes("--help") || args.includes("-h")) {
    for (const line of help) terminal.out(line)
    return 0
  }
  const options = readOptions(args)
  if (typeof options === "string") {
    terminal.err(`punctual listen: ${options} See punctual listen --help.`)
    return 2
  }
  const server = makeServer(options, terminal.out)
  try {
    server.listen(options.port, "127.0.0.1")
    await once(server, "listening")
  } catch (error) {
    terminal.err(`punctual listen: ${whyNotListening(error, options.port)}`)
    return 1
  }
  const { port } = server.address() as AddressInfo
  terminal.out(`Listening on http://127.0.0.1:${port}/ (Ctrl-C ends it)`)
  await terminal.untilStopped()
  server.closeAllConnections()
  server.close()
  return 0
}

const help = [
  "punctual listen: print what timers deliver, and answer.",
  "",
  "  --port 9000      the port on 127.0.0.1; 0 picks a free one",
  "  --answer 200     the status to answer with",
  "  --fail-first 0   answer 500 to this many first attempts of each timer",
  "  --delay 0        wait before answering: 250ms, 2s, or a bare number of milliseconds",
  "  --help           show this text",
]

/** The options, or what is wrong with them. */
const readOptions = (args: ReadonlyArray<string>): ListenOptions | string => {
  let values: Record<string, string | undefined>
  try {
    values = parseArgs({ args: [...args], options: flags, strict: true }).values
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return `${message.split(/[.\n]/, 1)[0]}.`
  }
  const port = wholeNumber(values["port"] ?? "9000", 0, 65_535)
  if (port === undefined) return "--port must be a whole number from 0 to 65535."
  const answer = wholeNumber(values["answer"] ?? "200", 200, 599)
  if (answer === undefined) return "--answer must be a status from 200 to 599."
  const failFirst = wholeNumber(values["fail-first"] ?? "0", 0, 100)
  if (failFirst === undefined) return "--fail-first must be a whole number from 0 to 100."
  const delay = values["delay"] ?? "0"
  const delayMs = wholeNumber(delay, 0, maxDelayMs) ?? parseDuration(delay)
  if (delayMs === undefined || delayMs > maxDelayMs) return "--delay must be a duration of at most 10m."
  return { port, answer, failFirst, delayMs }
}

const maxDelayMs = 600_000

const flags = {
  port: { type: "string" },
  answer: { type: "string" },
  "fail-first": { type: "string" },
  delay: { type: "string" },
} as const

const wholeNumber = (text: string, min: number, max: number): number | undefined => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1
  return value >= min && value <= max ? value : undefined
}

const makeServer = ({ answer, failFirst, delayMs }: ListenOptions, out: (line: string) => void): Server =>
  createServer(async (request, response) => {
    const receivedAt = new Date()
    const text = await textOf(request)
    if (text === undefined) {
      response.writeHead(413).end()
      return
    }
    const { "punctual-attempt": attemptText, "webhook-id": webhookId } = request.headers
    const attempt = Number(attemptText ?? 1)
    const status = attempt <= failFirst ? 500 : answer
    out(describe({ receivedAt, attempt, status, text, webhookId: webhookId?.toString() }))
    if (delayMs > 0) await pause(delayMs, response)
    response.writeHead(status).end()
  })

/** The body, unless it is larger than any that a timer sends. */
const textOf = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const maxBodyBytes = 1024 * 1024

/** Ends early if the caller gives up, since then nobody waits for the answer. */
const pause = (delayMs: number, response: ServerResponse): Promise<void> => {
  const gone = new AbortController()
  response.once("close", () => gone.abort())
  return sleep(delayMs, undefined, { signal: gone.signal }).catch(() => {})
}

interface Received {
  readonly receivedAt: Date
  readonly attempt: number
  readonly status: number
  readonly text: string
  readonly webhookId: string | undefined
}

/** One line, whatever was received: nothing of it may reach the terminal as a command. */
const describe = ({ receivedAt, attempt, status, text, webhookId }: Received): string => {
  const envelope = envelopeOf(text)
  const id =
    envelope === undefined
      ? (webhookId ?? "no webhook-id")
      : `${envelope["namespace"]}/${envelope["timerId"]}`
  // As it was sent: parsing it and writing it again would change large numbers.
  const span = envelope === undefined ? { start: 0, end: text.length } : memberSpan(text, "payload")
  const payload = span === undefined ? "" : text.slice(span.start, span.end)
  const time = receivedAt.toISOString().slice(11, 23)
  const parts = [time, lateness(envelope), id, `attempt ${attempt}`, `answered ${status}`, short(payload)]
  return parts
    .join("  ")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trimEnd()
}

const envelopeOf = (text: string): Record<string, unknown> | undefined => {
  try {
    const value = JSON.parse(text)
    return typeof value === "object" && value?.type === "timer.fired" ? value : undefined
  } catch {
    return undefined
  }
}

/** By the service's own clock, from the time asked for to this attempt: it holds under a manual clock too. */
const lateness = (envelope: Record<string, unknown> | undefined): string => {
  const executeAt = parseInstant(String(envelope?.["executeAt"]))
  const firedAt = parseInstant(String(envelope?.["firedAt"]))
  return executeAt === undefined || firedAt === undefined ? "+?" : `+${firedAt - executeAt}ms`
}

const maxPayloadChars = 100

const short = (text: string): string =>
  text.length <= maxPayloadChars ? text : `${text.slice(0, maxPayloadChars - 1)}…`

const whyNotListening = (error: unknown, port: number): string => {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "EADDRINUSE") return `port ${port} is in use; pick another with --port, or 0 for a free one.`
  if (code === "EACCES") return `port ${port} needs more rights; pick one above 1023 with --port.`
  return `cannot listen on port ${port}: ${error instanceof Error ? error.message : String(error)}`
}

const processTerminal: Terminal = {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  untilStopped: () =>
    new Promise((resolve) => {
      // Not `once`: a signal to the process group arrives a second time and must not kill.
      process.on("SIGINT", resolve)
      process.on("SIGTERM", resolve)
    }),
}
