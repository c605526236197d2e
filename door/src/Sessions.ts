/**
 * Sessions of the console: a cookie in place of a key, so that the key itself is not kept in a browser. The cookie names
 * the key and its own end, and is signed. Nothing is stored for a session. It ends with its key, and with the text of
 * the key that began it.
 *
 * The secret that signs is not in the store, because a backup would then be as good as a key. Nodes of a cluster derive it
 * from the cluster's secret. A single service makes a new one at each start, so a restart ends its sessions.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type { KeyVerdict, KnownKey, KnownKeys } from "./KnownKeys.ts"

export const sessionMs = 8 * 3_600_000

export interface SessionPlace {
  /**
   * The port in the address that the browser shows. It is in the name of the cookie, because cookies do not distinguish
   * ports, and two services on one machine must not overwrite each other's. Behind a proxy it is the port of the proxy,
   * so all nodes there have the same cookie.
   */
  readonly port: number
  /** Browsers then send the cookie only over TLS. */
  readonly isSecure: boolean
}

export class Sessions {
  readonly #keys: KnownKeys
  readonly #secret: string | Uint8Array

  constructor(keys: KnownKeys, secret: string | Uint8Array = randomBytes(32)) {
    this.#keys = keys
    this.#secret = secret
  }

  /** The `set-cookie` header of a new session, and when the session ends. `mark`: of the text that the caller sent. */
  begin(
    key: KnownKey,
    mark: string,
    place: SessionPlace,
    nowMs: number,
  ): { readonly cookie: string; readonly endsAtMs: number } {
    const endsAtMs = Math.min(nowMs + sessionMs, key.expiresAtMs ?? Number.POSITIVE_INFINITY)
    const value = `${key.id}.${endsAtMs}.${this.#signature(key.id, endsAtMs, mark)}`
    return { cookie: cookieOf(place, value, Math.ceil((endsAtMs - nowMs) / 1_000)), endsAtMs }
  }

  /** The `set-cookie` header that ends a session in the browser. */
  end(place: SessionPlace): string {
    return cookieOf(place, "", 0)
  }

  /** Judges the `cookie` header of a request; `undefined` if it has no session. */
  judge(cookies: string, { port }: Pick<SessionPlace, "port">, nowMs: number): KeyVerdict | undefined {
    const value = cookieValue(cookies, cookieName(port))
    if (value === undefined) return undefined
    const [, keyId = "", endsAt = "", signature = ""] = form.exec(value) ?? []
    const endsAtMs = Number(endsAt)
    const given = Buffer.from(signature)
    const isSigned = this.#keys.marksOf(keyId, nowMs).some((mark) => {
      const expected = Buffer.from(this.#signature(keyId, endsAtMs, mark))
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
    if (!isSigned || endsAtMs > nowMs + sessionMs) return wrong
    return endsAtMs > nowMs ? this.#keys.judgeId(keyId, nowMs) : { why: "expired" }
  }

  #signature(keyId: string, endsAtMs: number, mark: string): string {
    return createHmac("sha256", this.#secret)
      .update(`session ${keyId} ${endsAtMs} ${mark}`)
      .digest("base64url")
  }
}

const wrong: KeyVerdict = { why: "wrong" }
const form = /^([0-9A-Za-z]{1,20})\.(\d{1,15})\.([\w-]{43})$/

const cookieName = (port: number): string => `punctual_session_${port}`

const cookieOf = ({ port, isSecure }: SessionPlace, value: string, maxAgeSeconds: number): string =>
  `${cookieName(port)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${isSecure ? "; Secure" : ""}`

const cookieValue = (cookies: string, name: string): string | undefined => {
  for (const pair of cookies.split(";")) {
    const at = pair.indexOf("=")
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}
