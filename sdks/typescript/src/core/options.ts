/** The options of a client and of a call, and the defaults that a client fills in. */
import type { PunctualError } from "../errors.ts"

/** One HTTP request. `fetch` takes it as it is. */
export interface TransportRequest {
  readonly method: "GET" | "POST"
  readonly headers: Record<string, string>
  readonly body?: string
  readonly redirect: "manual"
  readonly signal?: AbortSignal
}

/** Sends one HTTP request, like `fetch`. */
export type Transport = (url: string, request: TransportRequest) => Promise<Response>

/** Where the client writes what a person should know. `console` is one. It never gets payloads or keys. */
export interface Logger {
  debug(message: string, details?: unknown): void
  warn(message: string, details?: unknown): void
}

/** What hooks learn about a request. */
export interface RequestEvent {
  /** Such as `timers.create`. */
  readonly operation: string
  /** The first try is 1. */
  readonly attempt: number
}

/** What hooks learn about an answer. */
export interface AnswerEvent extends RequestEvent {
  readonly status: number
  readonly requestId: string | undefined
  readonly durationMs: number
}

/** What hooks learn about a failed try. The client may try again. */
export interface FailureEvent extends RequestEvent {
  readonly error: PunctualError
  readonly durationMs: number
}

/** Functions that the client calls, for metrics and traces. If one throws, the call goes on. */
export interface Hooks {
  onRequest?(event: RequestEvent): void
  onAnswer?(event: AnswerEvent): void
  onFailure?(event: FailureEvent): void
}

/** Time and randomness. Tests can replace them. */
export interface ClientClock {
  nowMs(): number
  /** Returns after this time, or as soon as the signal is aborted. */
  sleep(waitMs: number, signal?: AbortSignal): Promise<void>
  /** From 0 to 1. */
  random(): number
}

/** Where delays begin. `server`: when the service receives them; then a create is not repeated after a time-out. */
export type DelayFrom = "client" | "server"

/** The options of a client. */
export interface PunctualOptions {
  /** The service, such as `https://timers.example.com`. The variable `TIMER_URL` when left out. */
  readonly url?: string | undefined
  /** The key, or a function that reads it for each request. The variable `TIMER_API_KEY` when left out; null for none. */
  readonly key?: string | (() => string | Promise<string>) | null | undefined
  /** The namespace of requests that name none. */
  readonly namespace?: string | undefined
  /** The time limit of each try; 10,000 when left out. */
  readonly timeoutMs?: number | undefined
  /** How often the client repeats a call that is harmless to repeat; 2 when left out. */
  readonly maxRetries?: number | undefined
  readonly delayFrom?: DelayFrom | undefined
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** `fetch` when left out. */
  readonly transport?: Transport | undefined
  readonly logger?: Logger | undefined
  readonly hooks?: Hooks | undefined
  readonly clock?: ClientClock | undefined
}

/** The options of one call. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined
  /** The time limit of each try. */
  readonly timeoutMs?: number | undefined
  readonly maxRetries?: number | undefined
  /** The call ends at this instant, with all its tries and waits. */
  readonly deadline?: Date | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** The options of a call that answers payloads. */
export interface PayloadOptions extends CallOptions {
  /** Each payload in the answer is a `RawJson` with its exact text. */
  readonly rawPayloads?: boolean | undefined
}

/** The options of a call that sets a time. */
export interface DelayOptions extends PayloadOptions {
  readonly delayFrom?: DelayFrom | undefined
}

/** The options with their defaults. */
export interface ConnectionSettings {
  readonly url: string
  readonly key: string | (() => string | Promise<string>) | undefined
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>>
  readonly transport: Transport
  readonly logger: Logger | undefined
  readonly hooks: Hooks | undefined
  readonly clock: ClientClock
}

const systemClock: ClientClock = {
  nowMs: () => Date.now(),
  random: () => Math.random(),
  sleep: (waitMs, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", end)
        resolve()
      }
      const timer = setTimeout(end, waitMs)
      if (signal?.aborted === true) end()
      else signal?.addEventListener("abort", end)
    }),
}

/** Checks the options and fills in the defaults. */
export const settingsOf = (options: PunctualOptions): ConnectionSettings => {
  const url = options.url ?? environmentVariable("TIMER_URL")
  if (url === undefined || url === "") throw new TypeError("Punctual needs a url: give one, or set TIMER_URL")
  if (!/^https?:\/\/[^/?#@]+[^?#@]*$/.test(url)) {
    throw new TypeError(
      "url must be http://host:port or https://host, without credentials, query and fragment",
    )
  }
  const { timeoutMs = 10_000, maxRetries = 2 } = options
  if (!(timeoutMs > 0)) throw new TypeError("timeoutMs must be greater than 0")
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > 100) {
    throw new TypeError("maxRetries must be a whole number from 0 to 100")
  }
  return {
    url: url.replace(/\/+$/, ""),
    key:
      options.key === null ? undefined : (options.key ?? (environmentVariable("TIMER_API_KEY") || undefined)),
    timeoutMs,
    maxRetries,
    headers: options.headers ?? {},
    transport: options.transport ?? ((place, request) => fetch(place, request)),
    logger: options.logger,
    hooks: options.hooks,
    clock: options.clock ?? systemClock,
  }
}

/** Browsers have no environment, and Deno may not let the program read it. */
const environmentVariable = (name: string): string | undefined => {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name]
  } catch {
    return undefined
  }
}
