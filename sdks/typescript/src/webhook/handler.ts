/**
 * Receives webhooks. The handler owns the raw body: it reads it within a limit, checks the signature over its bytes,
 * calls your function, and turns what the function does into the answer that Punctual understands.
 */
import type { Duration, InstantInput } from "../contract/requests.ts"
import { instantText } from "../core/durations.ts"
import type { Logger } from "../core/options.ts"
import { jsonText } from "../core/RawJson.ts"
import { type ParsedEvent, parseEvent, type TimerEvent } from "./TimerEvent.ts"
import { secretBytes, verifyWebhook } from "./verify.ts"

/** Throw it to ask for another attempt, after a time of your choice or by the retry policy. It counts as an attempt. */
export class Retry extends Error {
  /** How long Punctual waits; undefined leaves it to the retry policy. */
  readonly after: Duration | undefined

  constructor(after?: Duration, message = "the handler asks for another attempt") {
    super(message)
    this.name = "Retry"
    this.after = after
  }
}

/** Throw it if no attempt can succeed. The timer becomes a dead letter, and its last attempt shows the reason. */
export class Dead extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = "Dead"
  }
}

/** Return it to arm the timer again: at an instant, or after a delay. */
export interface Again {
  readonly nextDelay?: Duration | undefined
  readonly nextExecuteAt?: InstantInput | undefined
  /** The new payload; the old one when left out. */
  readonly payload?: unknown
}

/** Your function. Returning delivers the timer. */
export type Handle<Payload = unknown> = (event: TimerEvent<Payload>) => Handled | Promise<Handled>

// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement returns void.
type Handled = Again | undefined | void

/**
 * Remembers which fireIds are done, so that repeats do nothing. Keep it where the work is, best in the same transaction.
 */
export interface Memory {
  /** Whether this fireId is done: true, or the answer that `markDone` got. */
  done(fireId: string): Promise<boolean | string | undefined> | boolean | string | undefined
  /** Called after success only. Keep the answer if your function arms timers again: a repeat must answer the same. */
  markDone(fireId: string, answer: string): Promise<void> | void
}

/** The options of a handler. */
export interface HandlerOptions<Payload = unknown> {
  /** The secrets of the namespace. `"none"` accepts every request, and logs a warning. */
  readonly secrets: ReadonlyArray<string> | string
  /** The function for all timers. */
  readonly handle?: Handle<Payload> | undefined
  /** Functions by tag. The first tag of the timer that has a function counts. */
  readonly on?: Readonly<Record<string, Handle<Payload>>> | undefined
  /** The function for timers that `on` does not match. Without it they are answered 404, and Punctual retries. */
  readonly fallback?: Handle<Payload> | undefined
  readonly memory?: Memory | undefined
  /** The largest difference between the clocks; five minutes when left out. */
  readonly toleranceMs?: number | undefined
  /** The time-out of the target, which is 15 s by default. It sets the deadline of your function. */
  readonly timeoutMs?: number | undefined
  /** Larger bodies are answered 413; 1 MiB when left out. */
  readonly maxBodyBytes?: number | undefined
  readonly logger?: Logger | undefined
  /** The clock; that of the machine when left out. */
  readonly nowMs?: (() => number) | undefined
}

/** A webhook handler of the Fetch API. */
export type WebhookHandler = (request: Request) => Promise<Response>

const usualTimeoutMs = 15_000
const usualMaxBodyBytes = 1024 * 1024

/**
 * Makes a handler: `(request: Request) => Promise<Response>`. For `node:http`, Express and Fastify see `nodeHandler`.
 *
 * ```ts
 * const receive = handler({ secrets: process.env.WEBHOOK_SECRET, handle: async ({ timerId }) => remind(timerId) })
 * ```
 */
export const handler = <Payload = unknown>(options: HandlerOptions<Payload>): WebhookHandler => {
  const { handle, on, fallback, logger = console } = options
  if ((handle === undefined) === (on === undefined)) throw new TypeError("give exactly one of handle and on")
  if (handle !== undefined && fallback !== undefined) throw new TypeError("fallback is for on: remove it")
  const secrets = secretsOf(options.secrets, logger)
  const pick = (tags: ReadonlyArray<string>): Handle<Payload> | undefined => {
    if (handle !== undefined) return handle
    const tag = tags.find((name) => on !== undefined && Object.hasOwn(on, name))
    return tag === undefined ? fallback : on?.[tag]
  }
  // From here on the payload has no type: only the user's function knows it.
  return (request) => receive(request, { ...options, secrets, pick, logger } as Receiving)
}

interface Receiving extends Omit<HandlerOptions, "secrets" | "logger"> {
  readonly secrets: ReadonlyArray<string> | undefined
  readonly pick: (tags: ReadonlyArray<string>) => Handle | undefined
  readonly logger: Logger
}

const secretsOf = (given: HandlerOptions["secrets"], logger: Logger): ReadonlyArray<string> | undefined => {
  if (given === "none") {
    logger.warn("punctual: webhooks are accepted without a signature (secrets: none)")
    return undefined
  }
  const secrets = typeof given === "string" ? [given] : given
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw new TypeError('secrets must have at least one secret, or be "none"')
  }
  for (const secret of secrets) secretBytes(secret)
  return secrets
}

const receive = async (request: Request, receiving: Receiving): Promise<Response> => {
  const { secrets, toleranceMs, nowMs, maxBodyBytes = usualMaxBodyBytes } = receiving
  const { headers } = request
  const body = await boundedBody(request, maxBodyBytes).catch(() => "lost" as const)
  if (body === "lost") return plain(400, "the body did not arrive")
  if (body === undefined) return plain(413, "the body is too large")
  if (secrets !== undefined) {
    const finding = await verifyWebhook({ headers, body, secrets, toleranceMs, nowMs: nowMs?.() })
    if (finding !== "ok") return plain(401, `the signature is ${finding}`)
  }
  let event: ParsedEvent
  try {
    event = parseEvent(headers, body)
  } catch {
    return plain(400, "the body is not JSON")
  }
  const handle = receiving.pick(event.tags)
  if (handle === undefined) return plain(404, "no function handles the tags of this timer")
  return run(handle, event, request.signal, receiving)
}

/** Calls the function, unless its work is done already. */
const run = async (
  handle: Handle,
  event: ParsedEvent,
  gone: AbortSignal,
  { memory, timeoutMs = usualTimeoutMs, logger }: Receiving,
): Promise<Response> => {
  // A call of onDead has the fireId of the timer that died in its body, and its own one in the header.
  const fireId = event.headers.get("webhook-id") ?? ""
  const ending = new AbortController()
  const end = () => ending.abort()
  const timer = setTimeout(end, timeoutMs)
  gone.addEventListener("abort", end)
  try {
    const done = await memory?.done(fireId)
    if (done !== undefined && done !== false)
      return typeof done === "string" ? json(200, done) : plain(200, "")
    const deadline = new Date(Date.now() + timeoutMs)
    const again = await handle({ ...event, deadline, signal: ending.signal })
    const answer = answerText(again)
    await memory?.markDone(fireId, answer)
    return json(200, answer)
  } catch (error) {
    if (error instanceof Retry) {
      return json(
        200,
        JSON.stringify({ ok: false, ...(error.after === undefined ? {} : { nextDelay: error.after }) }),
      )
    }
    if (error instanceof Dead) {
      return json(422, JSON.stringify({ reason: error.message }), { "punctual-retry": "never" })
    }
    logger.warn(`punctual: the handler of ${event.namespace}/${event.timerId} failed`, error)
    return plain(500, "the handler failed")
  } finally {
    clearTimeout(timer)
    gone.removeEventListener("abort", end)
  }
}

const answerText = (again: Handled | null): string => {
  if (
    typeof again !== "object" ||
    again === null ||
    (again.nextDelay === undefined && again.nextExecuteAt === undefined)
  ) {
    return '{"ok":true}'
  }
  const { nextDelay, nextExecuteAt, payload } = again
  const at = nextExecuteAt === undefined ? undefined : instantText("nextExecuteAt", nextExecuteAt)
  return jsonText({ ok: true, nextDelay, nextExecuteAt: at, payload })
}

const plain = (status: number, text: string): Response =>
  new Response(text, { status, headers: { "content-type": "text/plain" } })

const json = (status: number, text: string, headers: Record<string, string> = {}): Response =>
  new Response(text, { status, headers: { "content-type": "application/json", ...headers } })

/** The bytes of the body; undefined if there are too many. */
const boundedBody = async (request: Request, maxBytes: number): Promise<Uint8Array | undefined> => {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return undefined
  const reader = request.body?.getReader()
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    bytes += value.byteLength
    if (bytes > maxBytes) {
      await reader?.cancel()
      return undefined
    }
    chunks.push(value)
  }
  const body = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.byteLength
  }
  return body
}
