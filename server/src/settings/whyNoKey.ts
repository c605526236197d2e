// Whether the service may start without a key. A service that others can reach must not answer everyone by mistake.
import type { AuthMode } from "@punctual/door/Gate"

export interface KeySituation {
  readonly auth: AuthMode
  readonly httpHost: string
  readonly isLoopback: boolean
  /** The store has had a key, or there is an administrator's key file. */
  readonly hasHadKey: boolean
}

/** Why the service must not start; `undefined` if it may. */
export const whyNoKey = ({ auth, httpHost, isLoopback, hasHadKey }: KeySituation): string | undefined => {
  if (auth === "off" || hasHadKey || (auth === "auto" && isLoopback)) return undefined
  const why =
    auth === "required"
      ? "TIMER_AUTH is required, and the store has no key."
      : `TIMER_HTTP_HOST is ${httpHost}, so other machines can reach the service, and the store has no key.`
  return `${why} Make the first key with punctual keys create --admin, or let the service make one: set TIMER_ADMIN_KEY_FILE to a file in a folder that it can write. If a proxy checks all callers, set TIMER_AUTH=off.`
}
