/** Tells operators about keys that end soon: a metric all the time, and a log line once a day. */
import { Effect, Metric } from "effect"
import type { KnownKeys } from "./KnownKeys.ts"

/** A key is announced as ending from this long before its end. */
export const expiryNoticeMs = 14 * 86_400_000

const dayMs = 86_400_000
const labelsNamed = 10

export class KeyExpiry {
  readonly #keys: KnownKeys
  #toldAtMs = Number.NEGATIVE_INFINITY

  constructor(keys: KnownKeys) {
    this.#keys = keys
  }

  /** Looks at all keys. It is called often, and cheap. */
  tell(nowMs: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ending = this.#keys.all().flatMap(({ id, record }) => {
        const { expiresAtMs = Number.POSITIVE_INFINITY, revokedAtMs, label } = record ?? { label: "" }
        const isEnding = expiresAtMs > nowMs && expiresAtMs - nowMs <= expiryNoticeMs
        return isEnding && revokedAtMs === undefined ? [{ id, label, expiresAtMs }] : []
      })
      const counted = Metric.update(expiring, ending.length)
      if (ending.length === 0 || nowMs - this.#toldAtMs < dayMs) return counted
      this.#toldAtMs = nowMs
      const named = ending
        .slice(0, labelsNamed)
        .map(({ id, label, expiresAtMs }) => `${id} (${label}) at ${new Date(expiresAtMs).toISOString()}`)
      const more = ending.length > labelsNamed ? `, and ${ending.length - labelsNamed} more` : ""
      return Effect.andThen(
        counted,
        Effect.logWarning(`keys end soon: ${named.join(", ")}${more}. Make new keys in time`),
      )
    })
  }
}

const expiring = Metric.gauge("timer_keys_expiring", {
  description: "Keys that end within the next 14 days.",
})
