/**
 * A timer as a form holds it: texts as the reader typed them. What the reader does not change stays as it was, down to the
 * millisecond and to every character of the payload. So the request is made of texts, and the payload is never parsed.
 */
import { isoText } from "../../kit/times.ts"
import type { Timer } from "../api.ts"
import type { Members } from "../copy/copyAs.ts"

export interface HeaderDraft {
  /** Tells equal rows apart while the reader edits them. */
  readonly row: number
  readonly name: string
  readonly value: string
}

export interface TargetDraft {
  readonly type: "none" | "webhook" | "event" | "handler"
  readonly url: string
  readonly method: string
  readonly headers: ReadonlyArray<HeaderDraft>
  readonly timeout: string
  readonly body: string
}

export interface RetryDraft {
  readonly form: "default" | "growing" | "waits"
  readonly maxAttempts: string
  readonly initialInterval: string
  readonly backoffMultiplier: string
  readonly maxInterval: string
  readonly jitter: string
  readonly maxDuration: string
  /** Durations with commas or spaces between them. */
  readonly waits: string
}

export interface TimerDraft {
  readonly namespace: string
  readonly timerId: string
  readonly when: "at" | "in"
  readonly atMs: number | undefined
  /** The zone in which the reader types the time. Undefined: that of the page. */
  readonly zone: string | undefined
  readonly delay: string
  readonly target: TargetDraft
  readonly payload: string
  readonly tags: ReadonlyArray<string>
  readonly correlationId: string
  readonly retry: RetryDraft
  readonly expireAfter: string
  readonly onExpire: string
  readonly onDead: TargetDraft
  readonly onExisting: string
}

export const noTarget: TargetDraft = {
  type: "none",
  url: "",
  method: "POST",
  headers: [],
  timeout: "",
  body: "envelope",
}

export const emptyDraft: TimerDraft = {
  namespace: "",
  timerId: "",
  when: "in",
  atMs: undefined,
  zone: undefined,
  delay: "1h",
  target: { ...noTarget, type: "webhook" },
  payload: "",
  tags: [],
  correlationId: "",
  retry: {
    form: "default",
    maxAttempts: "",
    initialInterval: "",
    backoffMultiplier: "",
    maxInterval: "",
    jitter: "",
    maxDuration: "",
    waits: "",
  },
  expireAfter: "",
  onExpire: "dead",
  onDead: noTarget,
  onExisting: "replace",
}

/** A draft with everything that the timer has. */
export const draftOf = (timer: Timer, payloadText: string | undefined): TimerDraft => ({
  ...emptyDraft,
  namespace: timer.namespace,
  timerId: timer.timerId,
  when: "at",
  atMs: Date.parse(timer.executeAt),
  target: targetDraftOf(timer.target),
  payload: payloadText ?? "",
  tags: timer.tags ?? [],
  correlationId: timer.correlationId,
  retry: retryDraftOf(timer.retryPolicy),
  expireAfter: timer.expireAfter ?? "",
  onExpire: timer.onExpire ?? "dead",
  onDead: timer.onDead === undefined ? noTarget : targetDraftOf(timer.onDead),
})

export const targetDraftOf = (target: Timer["target"]): TargetDraft => {
  if (target.type !== "webhook") return { ...noTarget, type: target.type }
  const { type, url, method, headers = {}, timeout, body } = target
  const rows = Object.entries(headers).map(([name, value], row) => ({ row, name, value }))
  return { type, url, method, headers: rows, timeout, body }
}

export const retryDraftOf = (policy: Timer["retryPolicy"]): RetryDraft => {
  const maxDuration = policy.maxDuration ?? ""
  if ("waits" in policy) {
    return { ...emptyDraft.retry, form: "waits", waits: policy.waits.join(", "), maxDuration }
  }
  const { maxAttempts, initialInterval, backoffMultiplier, maxInterval, jitter } = policy
  return {
    form: "growing",
    maxAttempts: String(maxAttempts),
    initialInterval,
    backoffMultiplier: String(backoffMultiplier),
    maxInterval,
    jitter: String(jitter),
    maxDuration,
    waits: "",
  }
}

/** The fields of the request that arms the timer. Empty fields are left out. */
export const membersOf = (draft: TimerDraft, zone: string): Members => {
  const { when, atMs, delay, target, payload, tags, retry, expireAfter, onExpire, onDead } = draft
  const members = new Map<string, string>()
  const add = (name: string, value: unknown): void => {
    if (value !== undefined && value !== "") members.set(name, JSON.stringify(value))
  }
  if (when === "in") add("delay", delay.trim())
  else if (atMs !== undefined) add("executeAt", isoText(atMs, zone))
  add("target", targetOf(target))
  if (payload.trim() !== "") members.set("payload", payload.trim())
  add("retryPolicy", retryPolicyOf(retry))
  add("expireAfter", expireAfter.trim())
  if (expireAfter.trim() !== "" && onExpire !== "dead") add("onExpire", onExpire)
  add("onDead", targetOf(onDead))
  add("correlationId", draft.correlationId)
  add("tags", tags.length === 0 ? undefined : tags)
  return members
}

export const targetOf = ({ type, url, method, headers, timeout, body }: TargetDraft): object | undefined => {
  if (type === "none") return undefined
  if (type !== "webhook") return { type }
  const named = headers.filter(({ name, value }) => name !== "" || value !== "")
  return {
    type,
    url: url.trim(),
    ...(method === "POST" ? {} : { method }),
    ...(named.length === 0
      ? {}
      : { headers: Object.fromEntries(named.map(({ name, value }) => [name.trim(), value.trim()])) }),
    ...(timeout.trim() === "" ? {} : { timeout: timeout.trim() }),
    ...(body === "envelope" ? {} : { body }),
  }
}

export const waitWords = (waits: string): ReadonlyArray<string> =>
  waits.split(/[\s,]+/).filter((word) => word !== "")

export const retryPolicyOf = (retry: RetryDraft): object | undefined => {
  if (retry.form === "default") return undefined
  const texts = (...names: ReadonlyArray<"initialInterval" | "maxInterval" | "maxDuration">) =>
    Object.fromEntries(names.map((name) => [name, retry[name].trim()]).filter(([, text]) => text !== ""))
  if (retry.form === "waits") return { waits: waitWords(retry.waits), ...texts("maxDuration") }
  const numbers = Object.fromEntries(
    (["maxAttempts", "backoffMultiplier", "jitter"] as const)
      .filter((name) => retry[name].trim() !== "")
      .map((name) => [name, numberOrText(retry[name].trim())]),
  )
  return { ...numbers, ...texts("initialInterval", "maxInterval", "maxDuration") }
}

/** What is no number goes out as text, so that the service says what is wrong with it. */
export const numberOrText = (text: string): number | string =>
  Number.isNaN(Number(text)) ? text : Number(text)

/** The request of `timers/create`: short where it can be. */
export const createMembers = (draft: TimerDraft, zone: string): Members => {
  const members = new Map([["namespace", JSON.stringify(draft.namespace.trim())]])
  if (draft.timerId !== "") members.set("timerId", JSON.stringify(draft.timerId))
  for (const [name, text] of membersOf(draft, zone)) {
    const target = name === "target" ? JSON.parse(text) : undefined
    const isShort = target !== undefined && Object.keys(target).join() === "type,url"
    if (isShort) members.set("callbackUrl", JSON.stringify(target.url))
    else members.set(name, text)
  }
  if (draft.onExisting !== "replace") members.set("onExisting", JSON.stringify(draft.onExisting))
  return members
}

/** The fields that differ. `null` clears a field. */
export const changedMembers = (before: TimerDraft, after: TimerDraft, zone: string): Members => {
  const [old, now] = [membersOf(before, zone), membersOf(after, zone)]
  const changes = new Map([...now].filter(([name, text]) => old.get(name) !== text))
  for (const name of old.keys()) {
    // A timer has one of these two.
    if (!now.has(name) && name !== "executeAt" && name !== "onExpire") changes.set(name, "null")
  }
  // The service accepts onExpire only beside expireAfter.
  const expires = now.get("expireAfter")
  const isOtherRule = old.get("onExpire") !== now.get("onExpire")
  if (expires !== undefined && (isOtherRule || changes.has("expireAfter"))) {
    changes.set("expireAfter", expires)
    changes.set("onExpire", JSON.stringify(after.onExpire))
  }
  return changes
}

/** A version of the timer with the reader's changes on top of it. What the reader did not touch is theirs. */
export const draftOnTop = (mine: TimerDraft, before: TimerDraft, theirs: TimerDraft): TimerDraft => {
  const isMine = (name: keyof TimerDraft) => JSON.stringify(mine[name]) !== JSON.stringify(before[name])
  // `Object.keys` forgets the type of the names.
  const names = (Object.keys(mine) as ReadonlyArray<keyof TimerDraft>).filter(isMine)
  return { ...theirs, ...Object.fromEntries(names.map((name) => [name, mine[name]])) }
}
