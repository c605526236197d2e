/**
 * Sends calls to the service that the pages come from. The browser sends the cookie of the session along, and the
 * service checks the rights. Addresses are relative, because a proxy may serve the service below any path.
 */
import type { SelfAnswer } from "@punctual/api/Keys"
import { type Contact, noteContact } from "./contact.ts"
import { apiAddress } from "./serviceUrl.ts"

export type Self = typeof SelfAnswer.Encoded

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

let tellAnswer: (response: Response) => void = () => undefined

/** Called with every answer, such as to learn from its headers. */
export const whenAnswered = (act: (response: Response) => void): void => {
  tellAnswer = act
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

export interface Asked {
  readonly method: "GET" | "POST" | "PATCH" | "PUT"
  /** A text goes out as it is. Parsed numbers could lose digits. */
  readonly body?: object | string
  readonly signal?: AbortSignal | undefined
}

/**
 * Returns the text of the answer. Fails with an ApiProblem. If the service wants a key, the call waits until the reader
 * has signed in, and is sent again. A refused call has changed nothing, and so a form loses nothing.
 */
export const askForText = async (path: string, asked: Asked): Promise<string> => {
  for (;;) {
    const { promise } = signedIn
    const answered = await sendCall(path, asked)
    if (typeof answered === "string") return answered
    if (answered.status !== 401 || needsNoKey.has(path)) throw answered
    // The reader may have signed in while the call was on its way.
    if (promise === signedIn.promise) tellSignInNeeded(true)
    await Promise.race([promise, ...(asked.signal === undefined ? [] : [aborted(asked.signal)])])
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })

const sendCall = async (path: string, asked: Asked): Promise<string | ApiProblem> => {
  const answered = await send(path, asked)
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
  if (answered.code === unreachable) return path === selfCall ? "lost" : "doubtful"
  if (!isNotReady(answered)) return "answers"
  return path === selfCall ? "starting" : undefined
}

const send = async (path: string, { method, body, signal }: Asked): Promise<string | ApiProblem> => {
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(`${apiAddress()}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : {
            headers: { "content-type": "application/json" },
            body: typeof body === "string" ? body : JSON.stringify(body),
          }),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    })
    tellAnswer(response)
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

/** A call whose fields are all in its body. Returns the text of the answer. */
export const callForText = (path: string, body: object | string, signal?: AbortSignal): Promise<string> =>
  askForText(path, { method: "POST", body, signal })

/** `A` is the answer in its JSON form. */
export const call = async <A>(path: string, body: object | string = {}, signal?: AbortSignal): Promise<A> =>
  JSON.parse(await callForText(path, body, signal))
