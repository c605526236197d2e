// The forms of timers and keys without a browser: what they send, what they preview, and that they change nothing unasked.
import { describe, expect, test } from "bun:test"
import { actions } from "@punctual/api/CallTerms"
import { roleNames as contractRoles } from "@punctual/api/KeyRights"
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { roles as doorRoles } from "@punctual/door/Rights"
import type { Timer } from "../console/api.ts"
import { requestText } from "../console/copy/copyAs.ts"
import { actionNames, rightsText, roleNames, roleOf, roles } from "../console/keys/rights.ts"
import { checkDraft, missingIn } from "../console/new/draftChecks.ts"
import { errorFinder } from "../console/new/fieldErrors.ts"
import { planOf, planText, usualPolicy } from "../console/new/retryWaits.ts"
import {
  changedMembers,
  createMembers,
  draftOf,
  draftOnTop,
  emptyDraft,
  type TimerDraft,
} from "../console/new/TimerDraft.ts"
import { isoText, readLocalTime } from "../kit/times.ts"
import { whenChoices } from "../kit/whenChoices.ts"

const payload = '{"n": 12345678901234567890123, "x": 1.10, "a":1,"a":2}'

const timer: Timer = {
  namespace: "shop",
  timerId: "a",
  state: "pending",
  revision: 7,
  fireId: "f",
  executeAt: "2030-01-01T09:00:00.123Z",
  attempts: 0,
  target: {
    type: "webhook",
    url: "https://example.com/hook?x=1",
    method: "PUT",
    headers: { "x-a": "1" },
    timeout: "15s",
    body: "payload",
  },
  retryPolicy: {
    maxAttempts: 3,
    initialInterval: "1m",
    backoffMultiplier: 2,
    maxInterval: "8h",
    jitter: 0,
    maxDuration: "1d",
  },
  expireAfter: "1h",
  onExpire: "drop",
  onDead: { type: "event" },
  correlationId: "order-1",
  tags: ["a,b", "c"],
  createdAt: "2029-01-01T00:00:00.000Z",
  updatedAt: "2029-01-01T00:00:00.000Z",
}

const before = draftOf(timer, payload)
const changed = (changes: Partial<TimerDraft>) =>
  Object.fromEntries(changedMembers(before, { ...before, ...changes }, "Europe/Berlin"))

describe("the request of a form", () => {
  test("is short where it can be, and has the payload exactly as it was typed", () => {
    const draft = {
      ...emptyDraft,
      namespace: "shop",
      target: { ...emptyDraft.target, url: "https://example.com" },
      payload: `  ${payload}\n`,
    }
    expect(requestText(createMembers(draft, "UTC"))).toBe(
      `{\n  "namespace": "shop",\n  "delay": "1h",\n  "callbackUrl": "https://example.com",\n  "payload": ${payload}\n}`,
    )
  })

  test("of a form that nobody touched changes nothing, in any zone", () => {
    expect(changed({})).toEqual({})
    expect(changedMembers(before, before, "America/New_York").size).toBe(0)
  })

  test("has only the fields that the reader changed", () => {
    expect(changed({ atMs: Date.parse("2030-01-02T09:00:00.123Z") })).toEqual({
      executeAt: '"2030-01-02T10:00:00.123+01:00"',
    })
    expect(changed({ when: "in", delay: "5m" })).toEqual({ delay: '"5m"' })
    expect(changed({ payload: "9007199254740993" })).toEqual({ payload: "9007199254740993" })
    const target = { ...before.target, timeout: "30s" }
    expect(JSON.parse(changed({ target })["target"] ?? "")).toEqual({
      type: "webhook",
      url: "https://example.com/hook?x=1",
      method: "PUT",
      headers: { "x-a": "1" },
      timeout: "30s",
      body: "payload",
    })
  })

  test("clears what the reader emptied", () => {
    const retry = { ...before.retry, form: "default" as const }
    const onDead = { ...before.onDead, type: "none" as const }
    expect(changed({ payload: " ", tags: [], expireAfter: "", retry, onDead })).toEqual({
      payload: "null",
      tags: "null",
      expireAfter: "null",
      retryPolicy: "null",
      onDead: "null",
    })
  })

  test("names the expiry and its rule together, because the service wants both", () => {
    expect(changed({ onExpire: "dead" })).toEqual({ expireAfter: '"1h"', onExpire: '"dead"' })
    expect(changed({ expireAfter: "2h" })).toEqual({ expireAfter: '"2h"', onExpire: '"drop"' })
  })

  test("after a conflict, the reader's changes are on top of the other version, and nothing else", () => {
    const mine = { ...before, payload: "1" }
    const theirs = { ...before, tags: ["theirs"], payload: "2" }
    expect(draftOnTop(mine, before, theirs)).toEqual({ ...before, tags: ["theirs"], payload: "1" })
  })
})

describe("checks while the reader types", () => {
  const errorsOf = (changes: Partial<TimerDraft>) => [...checkDraft({ ...emptyDraft, ...changes }).keys()]

  test("find what is surely wrong, and nothing in a right timer", () => {
    expect([...checkDraft(before), ...missingIn(before)]).toEqual([])
    expect(errorsOf({ namespace: "a b" })).toEqual(["/namespace"])
    expect(errorsOf({ delay: "1 hour" })).toEqual(["/delay"])
    expect(errorsOf({ target: { ...emptyDraft.target, url: "example.com" } })).toEqual(["/target/url"])
    expect(errorsOf({ target: { ...emptyDraft.target, url: "https://exa mple.com" } })).toEqual([
      "/target/url",
    ])
    // A text that would add fields to the request is not JSON.
    expect(errorsOf({ payload: '1, "namespace": "other"' })).toEqual(["/payload"])
    const waits = { ...emptyDraft.retry, form: "waits" as const, waits: "1m, soon" }
    expect(errorsOf({ retry: waits })).toEqual(["/retryPolicy/waits"])
    const headers = ["X-A", "x-a"].map((name, row) => ({ row, name, value: "1" }))
    expect(errorsOf({ target: { ...emptyDraft.target, headers } })).toEqual(["/target/headers"])
  })

  test("an error of a part stands beside the field of the whole", () => {
    const errorAt = errorFinder([
      ["/tags/1", "is given twice"],
      ["/target/headers/x-a", "cannot be set"],
    ])
    expect(errorAt("/tags")).toBe("number 2 is given twice")
    expect(errorAt("/target/headers")).toBe("x-a cannot be set")
    expect(errorAt("/target/url")).toBeUndefined()
  })
})

describe("the preview", () => {
  test("of the usual retries is that of the contract", () => {
    const { maxAttempts, initialIntervalMs, backoffMultiplier, maxIntervalMs, jitter } = defaultRetryPolicy
    expect<object>(usualPolicy).toEqual({
      maxAttempts,
      initialIntervalMs,
      backoffMultiplier,
      maxIntervalMs,
      jitter,
    })
    const plan = planOf(emptyDraft.retry)
    expect(plan?.waitsMs.slice(0, 3)).toEqual([5_000, 20_000, 80_000])
    expect(plan?.waitsMs).toHaveLength(9)
  })

  test("shows the waits, and that the longest duration ends them", () => {
    expect(planText(planOf(before.retry) ?? { waitsMs: [], jitter: 0, isCut: false })).toBe(
      "3 attempts. Waits: 1 m, 2 m. The last attempt starts about 3 m after the first.",
    )
    const short = { ...before.retry, maxDuration: "90s" }
    expect(planOf(short)).toEqual({ waitsMs: [60_000], jitter: 0, isCut: true })
    expect(planOf({ ...before.retry, maxAttempts: "1e9" })).toBeUndefined()
    expect(planOf({ ...before.retry, initialInterval: "soon" })).toBeUndefined()
  })

  test("of a local time says whether clocks show it once, twice or never", () => {
    const zone = "Europe/Berlin"
    expect(readLocalTime(zone, "2027-10-30", "02:30")?.occurs).toBe("once")
    expect(readLocalTime(zone, "2027-10-31", "02:30:00.5")).toEqual({
      occurs: "twice",
      atMs: Date.parse("2027-10-31T00:30:00.500Z"),
      laterMs: Date.parse("2027-10-31T01:30:00.500Z"),
    })
    expect(readLocalTime(zone, "2027-03-28", "02:30")).toEqual({
      occurs: "never",
      atMs: Date.parse("2027-03-28T01:30:00Z"),
    })
  })

  test("an instant in a zone keeps its milliseconds in ISO 8601", () => {
    for (const zone of ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]) {
      for (const at of [0, 1_893_488_400_123, Date.parse("2027-10-31T01:30:00.001Z")]) {
        expect([zone, Date.parse(isoText(at, zone))]).toEqual([zone, at])
      }
    }
    expect(isoText(Date.parse("2026-11-18T08:00:00Z"), "Europe/Berlin")).toBe("2026-11-18T09:00:00+01:00")
  })

  test("the quick choices are days of the calendar in the zone, also when clocks change", () => {
    const zone = "Europe/Berlin"
    // The evening before the clocks go forward.
    const now = Date.parse("2027-03-27T20:00:00Z")
    expect(whenChoices(undefined, now, zone).map(({ label, atMs }) => [label, isoText(atMs, zone)])).toEqual([
      ["+1 h", "2027-03-27T22:00:00+01:00"],
      ["+1 d", "2027-03-28T22:00:00+02:00"],
      ["Tomorrow 9:00 Berlin", "2027-03-28T09:00:00+02:00"],
      ["Monday 9:00 Berlin", "2027-03-29T09:00:00+02:00"],
    ])
    // An hour later is meant from the time that is chosen.
    expect(whenChoices(now + 5_000, now, zone)[0]?.atMs).toBe(now + 5_000 + 3_600_000)
  })
})

describe("the words about keys", () => {
  test("name every action and every role of the contract, with the same actions", () => {
    expect<ReadonlyArray<string>>(actionNames).toEqual(actions)
    expect<ReadonlyArray<string>>(roleNames).toEqual(contractRoles)
    for (const name of roleNames) {
      expect<ReadonlyArray<string>>(roles[name].actions).toEqual([...doorRoles[name]])
      expect(roleOf(doorRoles[name])).toBe(name)
    }
  })

  test("say a role by its name, and other rights one by one", () => {
    expect(rightsText(["*"])).toBe("Administrator")
    expect(rightsText(["timers.cancel", "timers.read"])).toBe("cancel timers, see timers")
    expect(rightsText(["later.action"])).toBe("later.action")
  })
})
