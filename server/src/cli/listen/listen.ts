// A receiver for trying timers. It prints each delivery on one line and answers as its flags say. A developer can watch
// retries, slow endpoints, refusals and signatures without writing a server first.
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant } from "@punctual/api/Instant"
import { memberSpan } from "@punctual/api/JsonSpan"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { Effect, Option, type Scope } from "effect"
import { Command, Flag } from "effect/cli"
import type { CommandInput } from "../client/ServiceClient.ts"
import { CommandFailed, misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { spanShown } from "../frame/figures.ts"
import { secretFileFlag, secretsIn } from "../timers/TimerFlags.ts"
import { type SignatureFinding, verifySignature } from "./verifySignature.ts"

interface ListenOptions {
  readonly answer: number
  readonly failFirst: number
  readonly delayMs: number
  /** One of these secrets must have signed a delivery. If there are none, signatures are not checked. */
  readonly secrets: ReadonlyArray<Uint8Array>
  readonly reject: boolean
  readonly json: boolean
}

const maxDelayMs = 600_000
const maxSecrets = 10

const wholeNumberFlag = (name: string, byDefault: number, min: number, max: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.withMetavar("N"),
    Flag.withDescription(`${description} (default ${byDefault})`),
    Flag.filter(
      (value) => value >= min && value <= max,
      () => `a whole number from ${min} to ${max}`,
    ),
    Flag.withDefault(byDefault),
  )

const flags = {
  port: wholeNumberFlag("port", 9000, 0, 65_535, "The port on 127.0.0.1; 0 picks a free one"),
  answer: wholeNumberFlag("answer", 200, 200, 599, "The HTTP status of the answer"),
  failFirst: wholeNumberFlag("fail-first", 0, 0, 100, "Answer 500 to the first N attempts of each timer"),
  delayMs: Flag.String("delay").pipe(
    Flag.withMetavar("DURATION"),
    Flag.withDescription("Wait this long before answering: 250ms, 2s, or a number of milliseconds"),
    Flag.withDefault("0"),
    Flag.filterMap(
      (text) => Option.filter(Option.fromUndefinedOr(delayOf(text)), (delayMs) => delayMs <= maxDelayMs),
      () => "a duration of at most 10m",
    ),
  ),
  secret: Flag.String("secret").pipe(
    Flag.withMetavar("whsec_…"),
    Flag.withDescription(
      "Check signatures with this secret; repeat the flag for several secrets, one of which must have signed",
    ),
    Flag.atMost(maxSecrets),
  ),
  secretFile: secretFileFlag,
  reject: switchFlag("reject", "Answer 401 to a delivery without a valid signature"),
  json: switchFlag("json", "Print one JSON object per delivery, with the body as it was sent"),
}

const delayOf = (text: string): number | undefined =>
  /^\d{1,9}$/.test(text) ? Number(text) : parseDuration(text)

/** Runs until it is stopped. The exit code is 1 if it could not listen. */
export const listenCommand = (input: CommandInput) =>
  Command.make("listen", flags, ({ port, secret, secretFile, ...options }) =>
    Effect.gen(function* () {
      const given = [
        ...secret,
        ...(Option.isSome(secretFile) ? yield* secretsIn(input, secretFile.value) : []),
      ]
      const secrets = given.flatMap((one) => secretBytes(one) ?? [])
      if (secrets.length < given.length) {
        return yield* Effect.fail(
          misuse(["listen"], "A secret must be whsec_ followed by 24 to 64 bytes in base64."),
        )
      }
      if (options.reject && secrets.length === 0) {
        return yield* Effect.fail(misuse(["listen"], "--reject needs --secret or --secret-file."))
      }
      const { answer, untilStopped } = yield* Output
      const stopped = yield* untilStopped
      const out = (line: string) => Effect.runPromise(Effect.ignore(answer(line)))
      const bound = yield* listening(makeServer({ ...options, secrets }, out), port)
      const url = `http://127.0.0.1:${bound}/`
      yield* answer(options.json ? JSON.stringify({ url }) : `Listening on ${url} (press Ctrl-C to stop)`)
      yield* stopped
    }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Receive the deliveries of timers, print one line for each, and answer.",
        "  With --secret each line also says whether the signature is ok, wrong, missing, too old or too new.",
      ].join("\n"),
    ),
    Command.withShortDescription("Run a receiver that prints the deliveries of timers"),
    Command.withExamples([
      { command: "punctual listen --fail-first 2" },
      { command: "punctual listen --json | jq .body" },
      { command: "punctual listen --port 9001 --secret-file secret.txt --reject" },
    ]),
  )

/** Listens until the scope ends. Returns the port. */
const listening = (server: Server, port: number): Effect.Effect<number, CommandFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        server.listen(port, "127.0.0.1")
        await once(server, "listening")
        return (server.address() as AddressInfo).port
      },
      catch: (error) => new CommandFailed({ message: whyNotListening(error, port) }),
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      }),
  )

const makeServer = (
  { answer, failFirst, delayMs, secrets, reject, json }: ListenOptions,
  out: (line: string) => Promise<void>,
): Server =>
  createServer(async (request, response) => {
    const receivedAt = new Date()
    const body = await bodyOf(request).catch(() => "cut off" as const)
    // The caller closed the connection, so there is nobody to answer.
    if (body === "cut off") return
    if (body === undefined) {
      response.writeHead(413).end()
      return
    }
    const { "punctual-attempt": attemptText, "webhook-id": webhookId } = request.headers
    const attempt = attemptOf(attemptText)
    const signature =
      secrets.length === 0 ? undefined : verifySignature(request.headers, body, secrets, receivedAt.getTime())
    const isRejected = reject && signature !== "ok"
    const status = isRejected ? 401 : attempt <= failFirst ? 500 : answer
    const text = body.toString()
    const received = { receivedAt, attempt, status, text, webhookId: webhookId?.toString(), signature }
    await out(json ? receivedJson(received) : describe(received))
    if (delayMs > 0) await pause(delayMs, response)
    response.writeHead(status).end()
  })

/** A missing or unreadable header counts as the first attempt. */
const attemptOf = (header: string | ReadonlyArray<string> | undefined): number =>
  typeof header === "string" && /^\d{1,6}$/.test(header) ? Number(header) : 1

/** `undefined` if the body is larger than any that a timer sends. */
const bodyOf = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const maxBodyBytes = 1024 * 1024

/** Ends early if the caller closes the connection, because then nobody waits for the answer. */
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
  readonly signature: SignatureFinding | undefined
}

/** The body is a string here, because it may be something other than JSON. */
const receivedJson = ({ receivedAt, attempt, status, text, webhookId, signature }: Received): string =>
  JSON.stringify({ receivedAt, webhookId, attempt, signature, answered: status, body: text })

/** Always one line, without control characters: a delivery must not be able to send commands to the terminal. */
const describe = (received: Received): string => {
  const { receivedAt, attempt, status, text, webhookId, signature } = received
  const envelope = envelopeOf(text)
  const id =
    envelope === undefined
      ? (webhookId ?? "no webhook-id")
      : `${envelope["namespace"] ?? "?"}/${envelope["timerId"] ?? "?"}`
  // The payload is shown as it was sent: parsing it and writing it again would change large numbers.
  const span = envelope === undefined ? { start: 0, end: text.length } : memberSpan(text, "payload")
  const payload = span === undefined ? "" : text.slice(span.start, span.end)
  const time = receivedAt.toISOString().slice(11, 23)
  const signed = signature === undefined ? [] : [`signature ${signature}`]
  const outcome = [`attempt ${attempt}`, ...signed, `answered ${status}`]
  const parts = [time, lateness(envelope), id, ...outcome, short(payload)]
  return parts
    .join("  ")
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trimEnd()
}

const envelopeTypes: ReadonlyArray<unknown> = ["timer.fired", "timer.dead"]

const envelopeOf = (text: string): Record<string, unknown> | undefined => {
  try {
    const value = JSON.parse(text)
    return typeof value === "object" && envelopeTypes.includes(value?.type) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * The time from when the timer was due to this attempt, by the service's own clock, so it is right under a manual clock
 * too. A timer that was created after its executeAt was due at its creation. The fireId, a UUID v7, contains that time.
 */
const lateness = (envelope: Record<string, unknown> | undefined): string => {
  if (envelope?.["type"] === "timer.dead") return `dead: ${envelope["reason"] ?? "?"}`
  const executeAt = parseInstant(String(envelope?.["executeAt"]))
  const firedAt = parseInstant(String(envelope?.["firedAt"]))
  if (executeAt === undefined || firedAt === undefined) return "+?"
  const lateMs = Math.max(0, firedAt - Math.max(executeAt, armedAt(String(envelope?.["fireId"]))))
  return lateMs < 1_000 ? `+${lateMs}ms` : `+${spanShown(lateMs)}`
}

/** The milliseconds that a UUID v7 begins with; 0 for any other text. */
const armedAt = (fireId: string): number => {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i.exec(fireId) ?? []
  return high === undefined || low === undefined ? 0 : Number.parseInt(high + low, 16)
}

const maxPayloadChars = 100

const short = (text: string): string =>
  text.length <= maxPayloadChars ? text : `${text.slice(0, maxPayloadChars - 1)}…`

const whyNotListening = (error: unknown, port: number): string => {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "EADDRINUSE") return `port ${port} is in use; pick another with --port, or 0 for a free one.`
  if (code === "EACCES") return `port ${port} needs administrator rights; pick one above 1023 with --port.`
  return `cannot listen on port ${port}: ${error instanceof Error ? error.message : String(error)}`
}
