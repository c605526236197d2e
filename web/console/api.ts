/**
 * Calls of the API. The pages use only the public calls. The browser sends the cookie of the session along, and the
 * service checks the rights. Addresses are relative, because a proxy may serve the service below any path.
 */
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { memberSpan } from "@punctual/api/JsonSpan"
import type { SelfAnswer } from "@punctual/api/Keys"
import type { ListTimersAnswer } from "@punctual/api/ListTimers"
import type { ListNamespacesAnswer } from "@punctual/api/NamespaceSettings"
import type { ServiceAnswer } from "@punctual/api/Service"
import { type Contact, noteContact } from "./contact.ts"

/** A timer as the API shows it: instants are ISO texts. */
export type Timer = (typeof TimerAnswer.Encoded)["timer"]
export type TimerState = Timer["state"]
export type TimerPage = typeof ListTimersAnswer.Encoded
export type NamespacePage = typeof ListNamespacesAnswer.Encoded
export type NamespaceView = NamespacePage["namespaces"][number]
export type Self = typeof SelfAnswer.Encoded
export type ServiceState = typeof ServiceAnswer.Encoded

/** An error that the service answered, or that the service could not be reached. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  /** The fields that are wrong, by JSON pointer. */
  readonly errors: ReadonlyArray<{ readonly pointer: string; readonly detail: string }>

  constructor(status: number, code: string, detail: string, errors: ApiProblem["errors"] = []) {
    super(detail)
    this.status = status
    this.code = code
    this.errors = errors
  }
}

const timeoutMs = 30_000

const unreachable = "unreachable"

const unreachableProblem = (status: number): ApiProblem =>
  new ApiProblem(status, unreachable, "The service cannot be reached.")

/** A proxy gives these answers in place of a service that it cannot reach. */
const isOfProxy = (status: number): boolean => status >= 502 && status <= 504

/** Called with true when the service wants a key, and with false when the reader has signed in. */
let tellSignInNeeded: (isNeeded: boolean) => void = () => undefined

export const whenSignInNeeded = (act: (isNeeded: boolean) => void): void => {
  tellSignInNeeded = act
}

/** Calls that wait for the reader to sign in. */
let signedIn = Promise.withResolvers<void>()

/** Exchanges a key for a session. The calls that wait for it go on. */
export const signIn = async (apiKey: string): Promise<void> => {
  await call("sessions/create", { apiKey })
  signedIn.resolve()
  signedIn = Promise.withResolvers()
  tellSignInNeeded(false)
}

/** These calls are about the key in their body, so a 401 is about that key. */
const needsNoKey: ReadonlySet<string> = new Set(["sessions/create", "sessions/end", "keys/revokeLeaked"])

/**
 * Returns the text of the answer. Fails with an ApiProblem. If the service wants a key, the call waits until the reader
 * has signed in, and is sent again. A refused call has changed nothing, and so a form loses nothing.
 */
export const callForText = async (
  path: string,
  body: object | string,
  signal?: AbortSignal,
): Promise<string> => {
  for (;;) {
    const { promise } = signedIn
    const answered = await sendCall(path, body, signal)
    if (typeof answered === "string") return answered
    if (answered.status !== 401 || needsNoKey.has(path)) throw answered
    // The reader may have signed in while the call was on its way.
    if (promise === signedIn.promise) tellSignInNeeded(true)
    await Promise.race([promise, ...(signal === undefined ? [] : [aborted(signal)])])
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })

const sendCall = async (
  path: string,
  body: object | string,
  signal: AbortSignal | undefined,
): Promise<string | ApiProblem> => {
  const answered = await send(path, body, signal)
  const contact = contactOf(path, answered)
  if (contact !== undefined) noteContact(contact)
  return answered
}

/** Who the reader is: every node can answer this alone. */
export const selfCall = "keys/self"

/** The node is not ready: it starts, waits to take over, or stops. Of other calls, the owner of one timer may be away. */
export const isNotReady = (error: unknown): boolean =>
  error instanceof ApiProblem && error.status === 503 && error.code === "ownerUnavailable"

/** Undefined if the answer says nothing about the service as a whole. */
const contactOf = (path: string, answered: string | ApiProblem): Contact | undefined => {
  if (typeof answered === "string") return "answers"
  if (answered.code === unreachable) return "lost"
  if (!isNotReady(answered)) return "answers"
  return path === selfCall ? "starting" : undefined
}

const send = async (
  path: string,
  body: object | string,
  signal: AbortSignal | undefined,
): Promise<string | ApiProblem> => {
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(`../api/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      // A text goes out as it is. Parsed numbers could lose digits.
      body: typeof body === "string" ? body : JSON.stringify(body),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    })
    const text = await response.text()
    return response.ok ? text : problemOf(response, text)
  } catch (error) {
    if (signal?.aborted) throw error
    return unreachableProblem(0)
  }
}

const startingText = "The service is starting. Try again in a moment."

const isStarting = (detail: unknown): boolean =>
  typeof detail === "string" && detail.startsWith("The service is starting.")

const problemOf = ({ status, statusText }: Response, text: string): ApiProblem => {
  try {
    const { code, detail, title, errors } = JSON.parse(text)
    const message = detail ?? title ?? statusText
    return new ApiProblem(
      status,
      code ?? "unknown",
      isStarting(message) ? startingText : message,
      errors ?? [],
    )
  } catch {
    if (isOfProxy(status)) return unreachableProblem(status)
    return new ApiProblem(status, "unknown", `The service answered ${status} ${statusText}.`)
  }
}

/** `A` is the answer in its JSON form. */
export const call = async <A>(path: string, body: object | string = {}, signal?: AbortSignal): Promise<A> =>
  JSON.parse(await callForText(path, body, signal))

export interface TimerWithPayload {
  readonly timer: Timer
  /** The payload as the service keeps it, byte for byte. Parsed numbers could lose digits. */
  readonly payloadText: string | undefined
}

export const getTimer = async (
  namespace: string,
  timerId: string,
  signal?: AbortSignal,
): Promise<TimerWithPayload> => {
  const text = await callForText("timers/get", { namespace, timerId }, signal)
  const timer = memberSpan(text, "timer")
  const timerText = timer === undefined ? "" : text.slice(timer.start, timer.end)
  const payload = memberSpan(timerText, "payload")
  return {
    timer: JSON.parse(text).timer,
    payloadText: payload === undefined ? undefined : timerText.slice(payload.start, payload.end),
  }
}
