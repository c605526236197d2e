/**
 * Which calls the client repeats by itself. A repeat must be harmless even if the first request was carried out, so the
 * answer depends on the call and on its fields. sdks/conformance/retries.json has the same table for all languages, and
 * a test compares the two.
 */

/** The fields of a request, as they are sent. */
export type Fields = Readonly<Record<string, unknown>>

/**
 * `read`: changes nothing. `same`: a repeat has the same effect as one request. `never`: a repeat could do more than
 * one request, so the client repeats it only if nothing of the first request was carried out.
 */
export type RepeatClass = "read" | "same" | "never"

/** A class, or the fields that make a call `same` or `read`. Without them it is `never`. */
export type RepeatRule =
  | RepeatClass
  | { readonly as: "read" | "same"; readonly with: Fields | ReadonlyArray<string>; readonly without?: Fields }
  | { readonly each: string; readonly like: string }

/** By the id of the operation in the OpenAPI document. */
export const repeatRules: Readonly<Record<string, RepeatRule>> = {
  "timers.create": { as: "same", with: ["timerId", "executeAt"], without: { onExisting: "fail" } },
  "timers.createMany": { each: "timers", like: "timers.create" },
  "timers.get": "read",
  "timers.update": { as: "same", with: ["ifRevision"] },
  "timers.delete": "same",
  "timers.deleteMany": "never",
  "timers.list": "read",
  "timers.count": "read",
  "timers.histogram": "read",
  "timers.lives": "read",
  "timers.activity": "read",
  "timers.replay": { as: "read", with: { dryRun: true } },
  "timers.discard": { as: "read", with: { dryRun: true } },
  "bulk.start": "never",
  "bulk.get": "read",
  "bulk.list": "read",
  "bulk.abort": "same",
  "cluster.cluster": "read",
  "clock.advance": { as: "same", with: ["to"] },
  "namespaces.put": "same",
  "namespaces.get": "read",
  "namespaces.list": "read",
  "service.get": "read",
  "service.pause": "same",
  "service.resume": "same",
  "breakers.list": "read",
  "breakers.reset": "same",
  "egress.check": "read",
  "messages.list": "read",
  "messages.get": "read",
  "messages.replay": "never",
  "messages.discard": "never",
  "keys.create": "never",
  "keys.rotate": "never",
  "keys.revoke": "same",
  "keys.revokeLeaked": "same",
  "keys.confirm": "same",
  "keys.get": "read",
  "keys.list": "read",
  "keys.self": "read",
  "sessions.create": "never",
  "sessions.end": "same",
  "audit.list": "read",
  "events.stream": "read",
}

/** Calls that this version does not know are never repeated after an unknown outcome. */
export const repeatClassOf = (operation: string, fields: Fields): RepeatClass => {
  const rule = repeatRules[operation] ?? "never"
  if (typeof rule === "string") return rule
  if ("each" in rule) {
    const items = fields[rule.each]
    const areSame = Array.isArray(items) && items.every((item) => repeatClassOf(rule.like, item) === "same")
    return areSame ? "same" : "never"
  }
  const hasAll = Array.isArray(rule.with)
    ? rule.with.every((name) => fields[name] !== undefined)
    : // Array.isArray does not narrow a list that is read-only.
      matches(fields, rule.with as Fields)
  const isExcluded = rule.without !== undefined && matches(fields, rule.without)
  return hasAll && !isExcluded ? rule.as : "never"
}

const matches = (fields: Fields, wanted: Fields): boolean =>
  Object.entries(wanted).every(([name, value]) => fields[name] === value)

/** How long the client waits between tries. */
export const waits = {
  firstWaitMs: 250,
  multiplier: 2,
  /** The waits do not grow beyond this. */
  mostGrownMs: 8_000,
  /** The part of each wait that is random. */
  jitter: 0.5,
  /** If the service asks for a longer wait, the call fails instead, and `retryAfterMs` says how long. */
  longestWaitMs: 60_000,
} as const

/** The wait before the next try; undefined if it would be too long. `random` is from 0 to 1. */
export const waitMsBefore = (
  retry: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined => {
  const grownMs = Math.min(waits.firstWaitMs * waits.multiplier ** (retry - 1), waits.mostGrownMs)
  const ownMs = grownMs * (1 - waits.jitter * random)
  const waitMs = Math.round(Math.max(ownMs, retryAfterMs ?? 0))
  return waitMs <= waits.longestWaitMs ? waitMs : undefined
}
