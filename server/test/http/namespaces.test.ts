import { describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const secretKeys = [new Uint8Array(32).fill(1)]
const bytesOf = (byte: number) => Buffer.alloc(32, byte)
const secretOf = (byte: number) => `whsec_${bytesOf(byte).toString("base64")}`
const fingerprintOf = (byte: number) => createHash("sha256").update(bytesOf(byte)).digest("hex").slice(0, 16)

const hook = "http://127.0.0.1:9/hook"

const put = async ({ post }: RunningService, body: Record<string, unknown>) =>
  succeeded("namespaces/put", await post("namespaces/put", { namespace: "shop", ...body })).settings

const get = async ({ post }: RunningService, namespace = "shop") =>
  succeeded("namespaces/get", await post("namespaces/get", { namespace })).settings

describe("namespaces/put", () => {
  test("sets given fields, keeps the rest, resets by null, and answers the current settings", () =>
    withService({}, async (service) => {
      const first = await put(service, {
        maxInFlight: 5,
        maxPending: 100,
        createsPerSecond: 50,
        retryPolicy: { maxAttempts: 3, initialInterval: "1s" },
      })
      expect(first).toMatchObject({
        namespace: "shop",
        webhookSecrets: [],
        maxInFlight: 5,
        maxPending: 100,
        createsPerSecond: 50,
        retryPolicy: { ...defaultRetryPolicy, maxAttempts: 3, initialIntervalMs: 1_000 },
        paused: false,
      })
      const second = await put(service, { maxPending: null, createsPerSecond: 60 })
      expect(second).toMatchObject({ maxInFlight: 5, createsPerSecond: 60 })
      expect(second).not.toHaveProperty("maxPending")
      const { updatedAt: _, ...stored } = second
      expect(await get(service)).toMatchObject(stored)
      expect(await get(service, "other")).toEqual({
        namespace: "other",
        webhookSecrets: [],
        paused: false,
        pending: { count: 0, capped: false },
        dead: { count: 0, capped: false },
      })
    }))

  test("without fields changes nothing", () =>
    withService({}, async (service) => {
      expect(await put(service, {})).toEqual({ namespace: "shop", webhookSecrets: [], paused: false })
    }))

  test("pauses from the first request on, and resumes", () =>
    withService({}, async (service) => {
      const { pausedSince, paused } = await put(service, { paused: true })
      expect(paused).toBe(true)
      expect(await put(service, { paused: true })).toMatchObject({ paused: true, pausedSince })
      expect(await put(service, { paused: false })).not.toHaveProperty("pausedSince")
    }))

  test("shows why it is paused until it is resumed, and refuses a reason without a pause", () =>
    withService({}, async (service) => {
      const pauseReason = "the ledger moves"
      expect(await put(service, { paused: true, pauseReason })).toMatchObject({ paused: true, pauseReason })
      expect(await put(service, { paused: true, maxPending: 9 })).toMatchObject({ pauseReason })
      expect(await put(service, { paused: true, pauseReason: "it waits" })).toMatchObject({
        pauseReason: "it waits",
      })
      for (const paused of [false, null, undefined]) {
        refused(
          await service.post("namespaces/put", { namespace: "shop", paused, pauseReason }),
          "invalidRequest",
        )
      }
      expect(await put(service, { paused: false })).not.toHaveProperty("pauseReason")
      expect(await put(service, { paused: true })).not.toHaveProperty("pauseReason")
    }))

  test("keeps secrets, and shows only their fingerprints", () =>
    withService({ secretKeys }, async (service) => {
      const answered = await service.post("namespaces/put", {
        namespace: "shop",
        webhookSecrets: [secretOf(2), secretOf(3)],
      })
      const expected = [{ fingerprint: fingerprintOf(2) }, { fingerprint: fingerprintOf(3) }]
      expect(succeeded("namespaces/put", answered).settings.webhookSecrets).toEqual(expected)
      const listed = await service.post("namespaces/list", {})
      const got = await service.post("namespaces/get", { namespace: "shop" })
      for (const { text } of [answered, listed, got]) {
        expect(text).toContain(fingerprintOf(2))
        expect(text).not.toContain("sealed")
        expect(text).not.toContain(secretOf(2).slice(6, 30))
      }
      expect((await put(service, { webhookSecrets: null })).webhookSecrets).toEqual([])
    }))

  test("keeps a secret that the namespace has by its fingerprint, so that a rotation needs only the new one", () =>
    withService({ secretKeys }, async (service) => {
      const kept = (byte: number) => ({ fingerprint: fingerprintOf(byte) })
      await put(service, { webhookSecrets: [secretOf(2)] })
      const rotating = await put(service, { webhookSecrets: [secretOf(3), kept(2)] })
      expect(rotating.webhookSecrets).toEqual([kept(3), kept(2)])
      const rotated = await put(service, { webhookSecrets: [kept(3)] })
      expect(rotated.webhookSecrets).toEqual([kept(3)])
      const gone = { namespace: "shop", webhookSecrets: [secretOf(4), kept(2)], maxPending: 3 }
      const problem = refused(await service.post("namespaces/put", gone), "invalidRequest")
      expect(pointersOf(problem)).toEqual(["/webhookSecrets/1/fingerprint"])
      expect(await get(service)).toMatchObject({ webhookSecrets: [kept(3)] })
      expect(await get(service)).not.toHaveProperty("maxPending")
    }))

  test("keeps a secret only in its own namespace", () =>
    withService({ secretKeys }, async (service) => {
      await put(service, { namespace: "other", webhookSecrets: [secretOf(2)] })
      const stolen = { namespace: "shop", webhookSecrets: [{ fingerprint: fingerprintOf(2) }] }
      refused(await service.post("namespaces/put", stolen), "invalidRequest")
    }))

  test("refuses secrets without a key to seal them, and names the setting", () =>
    withService({}, async ({ post }) => {
      const body = { namespace: "shop", webhookSecrets: [secretOf(2)], maxPending: 3 }
      const problem = refused(await post("namespaces/put", body), "invalidRequest")
      expect(pointersOf(problem)).toEqual(["/webhookSecrets"])
      expect(problem.errors?.[0]?.detail).toContain("TIMER_SECRET_KEY")
      const { settings } = succeeded("namespaces/get", await post("namespaces/get", { namespace: "shop" }))
      expect(settings).not.toHaveProperty("maxPending")
    }))

  test("by many callers at once loses no change", () =>
    withService({}, async (service) => {
      await Promise.all([
        put(service, { maxInFlight: 5 }),
        put(service, { maxPending: 6 }),
        put(service, { createsPerSecond: 7 }),
        put(service, { paused: true }),
      ])
      expect(await get(service)).toMatchObject({
        maxInFlight: 5,
        maxPending: 6,
        createsPerSecond: 7,
        paused: true,
      })
    }))
})

describe("namespaces/list", () => {
  test("lists all namespaces that have anything, by name, with their settings and counts", () =>
    withService({}, async (service) => {
      const { call, post } = service
      for (const namespace of ["b", "a", "c", "d"]) {
        await call("create", { namespace, timerId: "t", delay: "1h", callbackUrl: hook })
      }
      await put(service, { namespace: "e", paused: true })
      await post("service/pause", {})
      const names: Array<string> = []
      let cursor: string | undefined
      do {
        const answered = await post("namespaces/list", {
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        })
        const page = succeeded("namespaces/list", answered)
        for (const { namespace, pending, paused } of page.namespaces) {
          names.push(namespace)
          expect([pending.count, paused]).toEqual(namespace === "e" ? [0, true] : [1, false])
        }
        cursor = page.nextCursor
      } while (cursor !== undefined)
      expect(names).toEqual(["a", "b", "c", "d", "e"])
    }))

  test("with a prefix lists only the names that begin with it, on all pages", () =>
    withService({}, async (service) => {
      for (const namespace of ["team", "team-a", "team-b", "team-b2", "teal", "zoo"]) {
        await put(service, { namespace, paused: true })
      }
      const listed = async (prefix: string, limit: number) => {
        const names: Array<string> = []
        let cursor: string | undefined
        do {
          const answered = await service.post("namespaces/list", { prefix, limit, ...(cursor && { cursor }) })
          const page = succeeded("namespaces/list", answered)
          names.push(...page.namespaces.map(({ namespace }) => namespace))
          cursor = page.nextCursor
        } while (cursor !== undefined)
        return names
      }
      for (const limit of [1, 2, 100]) {
        expect(await listed("team-", limit)).toEqual(["team-a", "team-b", "team-b2"])
        expect(await listed("tea", limit)).toEqual(["teal", "team", "team-a", "team-b", "team-b2"])
        expect(await listed("team-b2", limit)).toEqual(["team-b2"])
        expect(await listed("nobody", limit)).toEqual([])
      }
      for (const prefix of ["", "_x", "a b", "x".repeat(101)]) {
        const problem = refused(await service.post("namespaces/list", { prefix }), "invalidRequest")
        expect(pointersOf(problem)).toEqual(["/prefix"])
      }
    }))

  test("ends a page of namespaces with large settings after a megabyte", () =>
    withService({}, async (service) => {
      const headers = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`x-${n}`, "v".repeat(250)]))
      const onDead = { type: "webhook", url: `${hook}?${"q".repeat(1_900)}`, headers }
      const waits = Array.from({ length: 99 }, () => "2591999999ms")
      const all = Array.from({ length: 100 }, (_, n) => `n-${String(n).padStart(2, "0")}`)
      for (const namespace of all) await put(service, { namespace, onDead, retryPolicy: { waits } })
      const first = succeeded("namespaces/list", await service.post("namespaces/list", {}))
      expect(first.namespaces.length).toBeLessThan(100)
      const { nextCursor: cursor } = first
      const second = succeeded("namespaces/list", await service.post("namespaces/list", { cursor }))
      expect([...first.namespaces, ...second.namespaces].map(({ namespace }) => namespace)).toEqual(all)
      expect(second.nextCursor).toBeUndefined()
    }))

  test("refuses a cursor that it never gave", () =>
    withService({}, async ({ post }) => {
      for (const cursor of ["x", "b3RoZXI", Buffer.from("1:é").toString("base64url")]) {
        const problem = refused(await post("namespaces/list", { cursor }), "invalidRequest")
        expect(pointersOf(problem)).toEqual(["/cursor"])
      }
    }))
})

describe("the settings of a namespace", () => {
  test("give its timers the retry policy that they do not have, and the fields that theirs omits", () =>
    withService({}, async (service) => {
      const { call } = service
      const policyOf = async (body: Record<string, unknown> = {}) =>
        succeeded(
          "create",
          await call("create", { namespace: "shop", delay: "1h", callbackUrl: hook, ...body }),
        ).timer.retryPolicy
      expect(await policyOf()).toEqual(defaultRetryPolicy)
      await put(service, { retryPolicy: { maxAttempts: 3, maxDuration: "2h" } })
      const own = { ...defaultRetryPolicy, maxAttempts: 3, maxDurationMs: 7_200_000 }
      expect(await policyOf()).toEqual(own)
      expect(await policyOf()).toEqual(own)
      expect(await policyOf({ retryPolicy: { maxAttempts: 7 } })).toEqual({ ...own, maxAttempts: 7 })
      expect(await policyOf({ namespace: "other" })).toEqual(defaultRetryPolicy)
      await put(service, { retryPolicy: null })
      expect(await policyOf()).toEqual(defaultRetryPolicy)
    }))

  test("give a timer whose policy is cleared the namespace's policy, not its earlier one", () =>
    withService({}, async (service) => {
      const key = { namespace: "shop", timerId: "t" }
      await service.call("create", {
        ...key,
        delay: "1h",
        callbackUrl: hook,
        retryPolicy: { maxAttempts: 9 },
      })
      await put(service, { retryPolicy: { maxAttempts: 3 } })
      const { timer } = succeeded("update", await service.call("update", { ...key, retryPolicy: null }))
      expect(timer.retryPolicy).toMatchObject({ maxAttempts: 3 })
    }))

  test("refuse creates beyond the quotas by 429 with the quota and a time to retry, item by item in createMany", () =>
    withService({}, async (service) => {
      const { call } = service
      await put(service, { maxPending: 2 })
      const timers = ["a", "b", "c"].map((timerId) => ({
        namespace: "shop",
        timerId,
        delay: "1h",
        callbackUrl: hook,
      }))
      const { results } = succeeded("createMany", await call("createMany", { timers }))
      expect(results.map((result) => ("problem" in result ? result.problem.code : result.result))).toEqual([
        "created",
        "created",
        "quotaExceeded",
      ])
      const problem = refused(await call("create", timers[2]), "quotaExceeded")
      expect(problem).toMatchObject({ quota: "maxPending", retryAfterSeconds: 1, written: "no" })
      expect(problem.detail).toContain("2 pending timers")
      expect((await call("create", timers[0])).status).toBe(200)
      await put(service, { maxPending: null, createsPerSecond: 1 })
      const again = succeeded("createMany", await call("createMany", { timers }))
      expect(
        again.results.map((result) => ("problem" in result ? result.problem.quota : result.result)),
      ).toEqual([expect.any(String), "createsPerSecond", "createsPerSecond"])
    }))
})
