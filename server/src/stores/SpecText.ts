// Converts specs to JSON text and back. Most timers of a program share a few specs, so both directions are cached:
// objects by identity, and texts in a cache that is emptied when it is full.
//
// An invalid text does not fail its reader. It becomes a spec that says why it is unreadable, so that one damaged row
// does not block the others of its page. On its way between threads, such a spec is text again.
import type { Attempt, Death, RetryPolicy, Spec, WebhookTarget } from "../domain/Timer.ts"
import { areNumbers, isFields, isNumberIfAny, isTextIfAny, jsonOf } from "./jsonText.ts"

/** Specs can have long headers, and each thread of a store has its own cache, so the characters are limited, too. */
const mostCached = { specs: 1_000, characters: 4_000_000 } as const
const specs = new Map<string, Spec>()
const texts = new WeakMap<Spec, string>()
let charactersCached = 0

export const textOfSpec = (spec: Spec): string => {
  const known = texts.get(spec)
  if (known !== undefined) return known
  const text = JSON.stringify(spec)
  texts.set(spec, text)
  return text
}

/** The shape of each text in the cache is checked once. */
export const specOfText = (text: string): Spec => {
  const known = specs.get(text)
  if (known !== undefined) return known
  const json = jsonOf(text)
  // A store that keeps specs apart from timers reads a missing one as an empty text.
  if (json === undefined) return unreadableSpec(text === "" ? "its body is missing" : "its spec is not JSON")
  if (!isSpec(json)) return unreadableSpec("its spec has another shape")
  keep(text, json)
  texts.set(json, text)
  return json
}

const keep = (text: string, spec: Spec): void => {
  if (specs.size === mostCached.specs || charactersCached > mostCached.characters) {
    specs.clear()
    charactersCached = 0
  }
  specs.set(text, spec)
  charactersCached += text.length
}

const noRetries: RetryPolicy = {
  maxAttempts: 1,
  initialIntervalMs: 0,
  backoffMultiplier: 1,
  maxIntervalMs: 0,
  jitter: 0,
}

/** The spec of a row that is set aside. */
export const unreadableSpec = (why: string): Spec => ({
  target: { type: "handler" },
  retryPolicy: noRetries,
  unreadable: why,
})

const isSpec = (json: unknown): json is Spec =>
  isFields<keyof Spec>(json) &&
  isTarget(json.target) &&
  isFields<keyof RetryPolicy>(json.retryPolicy) &&
  areNumbers(json.retryPolicy, retryNumbers) &&
  isNumberIfAny(json.retryPolicy.maxDurationMs) &&
  areNumbersIfAny(json.retryPolicy.waitsMs) &&
  isNumberIfAny(json.expireAfterMs) &&
  (json.onExpire === undefined || json.onExpire === "drop") &&
  (json.onDead === undefined || isOnDead(json.onDead)) &&
  (json.death === undefined || isDeath(json.death)) &&
  isTextIfAny(json.unreadable)

const areNumbersIfAny = (json: unknown): boolean =>
  json === undefined || (Array.isArray(json) && json.every((one) => typeof one === "number"))

const retryNumbers: ReadonlyArray<keyof RetryPolicy> = [
  "maxAttempts",
  "initialIntervalMs",
  "backoffMultiplier",
  "maxIntervalMs",
  "jitter",
]
const methods: ReadonlyArray<unknown> = ["POST", "PUT", "PATCH", "GET", "DELETE"]

const isTarget = (json: unknown): boolean => {
  if (!isFields<keyof WebhookTarget>(json)) return false
  if (json.type !== "webhook") return json.type === "event" || json.type === "handler"
  return (
    typeof json.url === "string" &&
    methods.includes(json.method) &&
    typeof json.timeoutMs === "number" &&
    (json.body === "envelope" || json.body === "payload") &&
    (json.headers === undefined || isHeaders(json.headers))
  )
}

const isOnDead = (json: unknown): boolean =>
  isTarget(json) && isFields<keyof WebhookTarget>(json) && json.type !== "handler"

const isDeath = (json: unknown): boolean =>
  isFields<keyof Death>(json) &&
  areNumbers(json, deathNumbers) &&
  typeof json.timerId === "string" &&
  typeof json.fireId === "string" &&
  typeof json.reason === "string" &&
  (json.lastAttempt === undefined ||
    (isFields<keyof Attempt>(json.lastAttempt) && areNumbers(json.lastAttempt, attemptNumbers)))

const deathNumbers: ReadonlyArray<keyof Death> = ["revision", "executeAt", "attempts"]
const attemptNumbers: ReadonlyArray<keyof Attempt> = ["at", "durationMs"]

const isHeaders = (json: unknown): boolean =>
  isFields(json) && Object.values(json).every((value) => typeof value === "string")
