// Every limit of the contract, through the listener. A value at the limit is accepted, one past it is refused, and the
// refusal names the field. Raised or lowered limits work in the same way.
import { describe, expect, test } from "bun:test"
import { defaultLimits, type Limits, limitSettingName } from "@punctual/api/Limits"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type Answered, withService } from "./ServiceFixture.ts"

const base = {
  namespace: "limits",
  timerId: "one",
  executeAt: "2031-01-01T00:00:00Z",
  callbackUrl: "http://h/",
}
const { executeAt: _, ...timeless } = base
const { callbackUrl: __, ...untargeted } = base
const url = "http://h/"

const atMost = (name: string, pointer: string, taken: object, past: object) =>
  test(name, () =>
    withService({}, async ({ call, pendingIn }) => {
      const problem = refused(await call("create", past), "invalidRequest")
      expect(pointersOf(problem).some((named) => named.startsWith(pointer))).toBe(true)
      expect(await pendingIn("limits")).toBe(0)
      succeeded("create", await call("create", taken))
    }),
  )

describe("a create", () => {
  const ofBytes = (bytes: number) => "x".repeat(bytes - 2)
  atMost(
    "payload bytes",
    "/payload",
    { ...base, payload: ofBytes(65_536) },
    { ...base, payload: ofBytes(65_537) },
  )
  atMost(
    "payload bytes, not characters",
    "/payload",
    { ...base, payload: "é".repeat(32_767) },
    { ...base, payload: "é".repeat(32_768) },
  )
  atMost("id bytes", "/timerId", { ...base, timerId: "é".repeat(127) }, { ...base, timerId: "é".repeat(128) })
  atMost(
    "namespace length",
    "/namespace",
    { ...base, namespace: "n".repeat(100) },
    { ...base, namespace: "n".repeat(101) },
  )
  atMost(
    "correlation id bytes",
    "/correlationId",
    { ...base, correlationId: "c".repeat(255) },
    { ...base, correlationId: "c".repeat(256) },
  )
  const callbackUrl = (length: number) => url.padEnd(length, "a")
  atMost(
    "URL length",
    "/callbackUrl",
    { ...base, callbackUrl: callbackUrl(2_048) },
    { ...base, callbackUrl: callbackUrl(2_049) },
  )
  const headers = (count: number) => ({
    ...untargeted,
    target: {
      type: "webhook",
      url,
      headers: Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "v"])),
    },
  })
  atMost("number of headers", "/target/headers", headers(32), headers(33))
  const headerBytes = (bytes: number) => ({
    ...untargeted,
    target: { type: "webhook", url, headers: { "x-a": "v".repeat(bytes - 3) } },
  })
  atMost("header bytes", "/target/headers", headerBytes(8_192), headerBytes(8_193))
  const timeout = (text: string) => ({ ...untargeted, target: { type: "webhook", url, timeout: text } })
  atMost("the longest time-out", "/target/timeout", timeout("300s"), timeout("300s1ms"))
  atMost("the shortest time-out", "/target/timeout", timeout("1s"), timeout("999ms"))
  atMost(
    "attempts",
    "/retryPolicy/maxAttempts",
    { ...base, retryPolicy: { maxAttempts: 100 } },
    { ...base, retryPolicy: { maxAttempts: 101 } },
  )
  atMost(
    "no attempt",
    "/retryPolicy/maxAttempts",
    { ...base, retryPolicy: { maxAttempts: 1 } },
    { ...base, retryPolicy: { maxAttempts: 0 } },
  )
  atMost("delay", "/delay", { ...timeless, delay: "3653d" }, { ...timeless, delay: "3653d1ms" })

  test("how far ahead an instant may be, counted from receipt", () =>
    withService({}, async ({ call }) => {
      const ahead = (marginMs: number) =>
        new Date(Date.now() + defaultLimits.aheadMs + marginMs).toISOString()
      const problem = refused(await call("create", { ...base, executeAt: ahead(60_000) }), "invalidRequest")
      expect(pointersOf(problem)).toEqual(["/executeAt"])
      refused(
        await call("update", { ...base, callbackUrl: undefined, executeAt: ahead(60_000) }),
        "invalidRequest",
      )
      succeeded("create", await call("create", { ...base, executeAt: ahead(-1) }))
    }))
})

describe("other calls", () => {
  test("createMany takes 1 to 1,000 timers", () =>
    withService({}, async ({ call, pendingIn }) => {
      const timers = (count: number) => ({
        timers: Array.from({ length: count }, (_, index) => ({ ...base, timerId: `t-${index}` })),
      })
      refused(await call("createMany", timers(1_001)), "invalidRequest")
      refused(await call("createMany", timers(0)), "invalidRequest")
      expect(await pendingIn("limits")).toBe(0)
      const { results } = succeeded("createMany", await call("createMany", timers(1_000)))
      expect(results.every((one) => "result" in one && one.result === "created")).toBe(true)
      expect(await pendingIn("limits")).toBe(1_000)
    }))

  test("an update's payload has the same limit as a create's", () =>
    withService({}, async ({ call }) => {
      await call("create", base)
      const change = { namespace: "limits", timerId: "one", payload: "x".repeat(65_535) }
      expect(pointersOf(refused(await call("update", change), "invalidRequest"))).toEqual(["/payload"])
    }))

  test("a page has at most 1,000 timers, and 100 by default", () =>
    withService({}, async ({ call }) => {
      const timers = Array.from({ length: 101 }, (_, index) => ({ ...base, timerId: `t-${index}` }))
      await call("createMany", { timers })
      const listed = (limit?: number): Promise<Answered> =>
        call("list", { namespace: "limits", ...(limit === undefined ? {} : { limit }) })
      refused(await listed(1_001), "invalidRequest")
      refused(await listed(0), "invalidRequest")
      expect(succeeded("list", await listed(1_000)).timers.length).toBe(101)
      expect(succeeded("list", await listed()).timers.length).toBe(100)
      refused(await call("list", { namespace: "limits", cursor: "c".repeat(1_025) }), "invalidRequest")
    }))
})

test("an operator's limits replace the defaults", () =>
  withService({ limits: { payloadBytes: 10, createMany: 1, bodyBytes: 300 } }, async ({ call, fetch }) => {
    succeeded("create", await call("create", { ...base, payload: "12345678" }))
    refused(await call("create", { ...base, payload: "123456789" }), "invalidRequest")
    refused(await call("createMany", { timers: [base, base] }), "invalidRequest")
    refused(await call("create", JSON.stringify(base).padEnd(301)), "bodyTooLarge")
    const document = (await fetch("/openapi.json")).text
    expect(document).toContain("The limit is 1 per call.")
  }))

describe("a refusal by a limit", () => {
  const target = (more: object) => ({ ...untargeted, target: { type: "webhook", url, ...more } })
  const headers = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`x-${index}`, "v"]))
  const refusals: ReadonlyArray<readonly [keyof Limits, string, unknown]> = [
    ["payloadBytes", "timers/create", { ...base, payload: "x".repeat(65_536) }],
    ["headers", "timers/create", target({ headers })],
    ["headerBytes", "timers/create", target({ headers: { "x-a": "v".repeat(8_192) } })],
    ["urlLength", "timers/create", { ...base, callbackUrl: url.padEnd(2_049, "a") }],
    ["createMany", "timers/createMany", { timers: Array.from({ length: 1_001 }, () => base) }],
    ["bodyBytes", "timers/create", JSON.stringify(base).padEnd(1024 * 1024 + 1)],
    ["createManyBodyBytes", "timers/createMany", "{}".padEnd(16 * 1024 * 1024 + 1)],
    ["listPage", "timers/list", { namespace: "limits", limit: 1_001 }],
    ["namespacePage", "namespaces/list", { limit: 101 }],
    ["aheadMs", "timers/create", { ...timeless, delay: "3653d1ms" }],
    ["aheadMs", "timers/create", { ...base, executeAt: "9000-01-01T00:00:00Z" }],
    ["timeoutMinMs", "timers/create", target({ timeout: "1ms" })],
    ["timeoutMaxMs", "timers/create", target({ timeout: "1h" })],
    ["attempts", "timers/create", { ...base, retryPolicy: { maxAttempts: 101 } }],
    ["retryIntervalMs", "timers/create", { ...base, retryPolicy: { maxInterval: "31d" } }],
  ]

  test("names the setting that changes it", () =>
    withService({}, async ({ post }) => {
      for (const [key, path, body] of refusals) {
        const { json } = await post(path as `${string}/${string}`, body)
        expect(json.detail).toContain(`setting`)
        expect(json.detail).toMatch(new RegExp(`${limitSettingName(key)}\\b`))
      }
    }))

  test("of a namespace names the namespace's setting, and one timer is no timers", () =>
    withService({}, async ({ call, post }) => {
      await post("namespaces/put", { namespace: "limits", maxPending: 1 })
      succeeded("create", await call("create", base))
      const pending = refused(await call("create", { ...base, timerId: "two" }), "quotaExceeded")
      expect(pending.detail).toStartWith("The namespace already has 1 pending timer, which is its limit.")
      expect(pending.detail).toEndWith(
        "maxPending of the namespace, or TIMER_MAX_PENDING_PER_NAMESPACE of the service.",
      )
    }))
})
