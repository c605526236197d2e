/**
 * Decides who makes a request: the holder of a key, a session of the console, or anybody while no keys are in force. It
 * does not decide what the caller may do: see `Caller.may`.
 */
import type { Action } from "@punctual/api/CallTerms"
import { everything } from "@punctual/api/KeyRights"
import { Forbidden, Unauthorized } from "@punctual/api/Problem"
import { anonymous, type Caller } from "./Caller.ts"
import { FailedTries } from "./FailedTries.ts"
import type { KeyDirectory } from "./KeyDirectory.ts"
import { adminKeyId, type KeyVerdict, type KnownKey, type WhyNotValid } from "./KnownKeys.ts"
import type { Rights } from "./Rights.ts"

/** `auto`: keys are needed as soon as the store has had one. */
export type AuthMode = "auto" | "required" | "off"

/** What a request shows about its caller. */
export interface Presented {
  readonly authorization: string | null
  readonly cookie: string | null
  /** The address of the client. */
  readonly address: string
  /** The addresses that share limits with it. */
  readonly addressGroup: string
  /**
   * The browser says that a page of the service itself made the request. Without it a session is not accepted, because
   * browsers add cookies to requests of other pages too.
   */
  readonly isSameOrigin: boolean
  /** The port in the address that the browser shows. Asked only if there is a cookie. */
  readonly port: () => number
}

export type FailureReason = WhyNotValid | "missing" | "crossSite"

export interface Refusal {
  readonly problem: Unauthorized | Forbidden
  readonly reason: FailureReason
  /** How long the answer should wait. See `FailedTries`. */
  readonly delayMs: number
  readonly addressGroup: string
}

export interface GateOptions {
  readonly keys: KeyDirectory["Service"]
  readonly mode: AuthMode
  readonly nowMs: () => number
  readonly tries?: FailedTries
}

export class Gate {
  readonly tries: FailedTries
  readonly #options: GateOptions

  constructor(options: GateOptions) {
    this.#options = options
    this.tries = options.tries ?? new FailedTries()
  }

  /** Whether calls need a key. Once a store has had a key this stays so, even if the last key ends. */
  get isClosed(): boolean {
    const { mode, keys } = this.#options
    return mode === "required" || (mode === "auto" && keys.hasHadKey())
  }

  admit(presented: Presented): KeyCaller | typeof anonymous | Refusal {
    if (!this.isClosed) return anonymous
    const { authorization, cookie } = presented
    const bearer = authorization === null ? undefined : bearerForm.exec(authorization)?.[1]
    if (bearer !== undefined) return this.#judged(presented, this.#options.keys.judge(bearer, this.#now()))
    const session =
      cookie === null || authorization !== null
        ? undefined
        : this.#options.keys.sessions.judge(cookie, { port: presented.port() }, this.#now())
    if (session === undefined) return this.#refusal(presented, "missing")
    if (!presented.isSameOrigin) return this.#refusal(presented, "crossSite")
    return this.#judged(presented, session)
  }

  #judged(presented: Presented, verdict: KeyVerdict): KeyCaller | Refusal {
    if ("why" in verdict) return this.#refusal(presented, verdict.why)
    const { key } = verdict
    if (key.id !== adminKeyId) this.#options.keys.used(key.id, this.#now())
    return new KeyCaller(key, presented.address)
  }

  /** Only a wrong key is a guess. The other answers do not wait. */
  #refusal({ addressGroup }: Presented, reason: FailureReason): Refusal {
    const delayMs = reason === "wrong" ? this.tries.failed(addressGroup, performance.now()) : 0
    return { problem: problems[reason](), reason, delayMs, addressGroup }
  }

  #now(): number {
    return this.#options.nowMs()
  }
}

export const isRefusal = (admitted: Caller | Refusal): admitted is Refusal => "problem" in admitted

/** The holder of a key. */
export class KeyCaller implements Caller {
  readonly key: KnownKey
  readonly address: string

  constructor(key: KnownKey, address: string) {
    this.key = key
    this.address = address
  }

  get name(): string {
    return this.key.label
  }

  get keyId(): string {
    return this.key.id
  }

  get rights(): Rights {
    return this.key.granted.rights
  }

  may(action: Action, namespace: string | undefined): boolean {
    return this.key.granted.may(action, namespace)
  }

  mayAnywhere(action: Action): boolean {
    return this.key.granted.mayAnywhere(action)
  }
}

const bearerForm = /^Bearer +([\x21-\x7e]{1,512})$/i

const unauthorized = (detail: string) => () => new Unauthorized({ detail })

const problems: Readonly<Record<FailureReason, () => Unauthorized | Forbidden>> = {
  missing: unauthorized(
    "This call needs a key. Send it in the header Authorization: Bearer <key>. Commands read it from --key-file, TIMER_API_KEY, TIMER_API_KEY_FILE or TIMER_ADMIN_KEY_FILE.",
  ),
  wrong: unauthorized("The key is not valid."),
  expired: unauthorized(
    "The key has expired. Ask an administrator for a new one. If you use the console, sign in again.",
  ),
  revoked: unauthorized("The key has been revoked. Ask an administrator for a new one."),
  unconfirmed: unauthorized(
    "The key is from before the store was restored from a backup, so an administrator must confirm it first: punctual keys confirm.",
  ),
  crossSite: () =>
    new Forbidden({ detail: "A session only works for pages of this service itself. Send a key instead." }),
}

/** The answer to someone whose key is not valid. It says more only to someone who knows the whole key. */
export const notValid = (why: WhyNotValid): Unauthorized | Forbidden => problems[why]()

/** The answer to a caller who is known and may not do this. */
export const forbidden = (action: Action, namespace: string | undefined): Forbidden =>
  new Forbidden({
    detail:
      namespace === undefined || namespace === everything
        ? `The key needs the action ${action} for all namespaces ("*").`
        : `The key needs the action ${action} in the namespace ${namespace}.`,
  })
