// Egress rules at the API: creates and changes that the rules refuse without a lookup, and the call that explains them.
import { describe, expect, test } from "bun:test"
import { parseEgress } from "@punctual/egress/Egress"
import { Result } from "effect"
import { makeWebhookDeliverer } from "../../src/deliverers/webhook/WebhookDeliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const timer = { namespace: "shop", timerId: "t", delay: "1h", callbackUrl: "https://example.com/hook" }
const webhook = (url: string) => ({ type: "webhook", url })

describe("a target that the rules refuse without a lookup", () => {
  test("makes a create fail, in every spelling, and nothing is stored", () =>
    withService({ egress: "public" }, async ({ call, pendingIn }) => {
      const hosts = ["127.0.0.1", "0x7f000001", "017700000001", "2130706433", "[::1]", "[::ffff:10.0.0.1]"]
      for (const host of [...hosts, "169.254.169.254", "localhost:9000", "a.localhost", "billing"]) {
        const { callbackUrl: _, ...rest } = timer
        const url = `http://${host}/hook`
        const problem = refused(await call("create", { ...rest, callbackUrl: url }), "egressRefused")
        expect([host, pointersOf(problem)]).toEqual([host, ["/callbackUrl"]])
        expect(problem.detail).toContain("TIMER_EGRESS")
        const byTarget = await call("create", { ...rest, target: webhook(url) })
        expect(pointersOf(refused(byTarget, "egressRefused"))).toEqual(["/target/url"])
      }
      expect(await pendingIn("shop")).toBe(0)
      succeeded("create", await call("create", timer))
    }))

  test("makes an update fail, and the timer stays as it is", () =>
    withService({ egress: "public" }, async ({ call }) => {
      const { revision } = succeeded("create", await call("create", timer)).timer
      const key = { namespace: "shop", timerId: "t" }
      const changed = await call("update", { ...key, callbackUrl: "http://10.0.0.1/" })
      expect(pointersOf(refused(changed, "egressRefused"))).toEqual(["/callbackUrl"])
      const reported = await call("update", { ...key, onDead: webhook("http://localhost/") })
      expect(pointersOf(refused(reported, "egressRefused"))).toEqual(["/onDead/url"])
      expect(succeeded("get", await call("get", key)).timer.revision).toBe(revision)
    }))

  test("makes only its own item of createMany fail", () =>
    withService({ egress: "public" }, async ({ call, pendingIn }) => {
      const items = [
        timer,
        { ...timer, timerId: "u", callbackUrl: "http://127.0.0.1/" },
        { ...timer, timerId: "v" },
      ]
      const { results } = succeeded("createMany", await call("createMany", { timers: items }))
      expect(results).toMatchObject([
        { result: "created" },
        { problem: { code: "egressRefused", status: 400, errors: [{ pointer: "/timers/1/callbackUrl" }] } },
        { result: "created" },
      ])
      expect(await pendingIn("shop")).toBe(2)
    }))

  test("is refused as onDead of a timer and of a namespace", () =>
    withService({ egress: "public" }, async ({ call, post, pendingIn }) => {
      const onDead = webhook("http://192.168.0.1/dead")
      const created = await call("create", { ...timer, onDead })
      expect(pointersOf(refused(created, "egressRefused"))).toEqual(["/onDead/url"])
      const put = await post("namespaces/put", { namespace: "shop", onDead, maxPending: 5 })
      expect(pointersOf(refused(put, "egressRefused"))).toEqual(["/onDead/url"])
      const { settings } = succeeded("namespaces/get", await post("namespaces/get", { namespace: "shop" }))
      expect(settings).not.toHaveProperty("maxPending")
      expect(await pendingIn("shop")).toBe(0)
    }))

  test("passes if the rules allow it, or if only a lookup can tell", async () => {
    const creates = ["http://127.0.0.1/", "http://localhost/", "http://10.0.0.1/", "http://api.internal/"]
    const accepts = (egress: string, urls: ReadonlyArray<string>) =>
      withService({ egress }, async ({ call }) => {
        for (const callbackUrl of urls) succeeded("create", await call("create", { ...timer, callbackUrl }))
      })
    await accepts("open", creates)
    await accepts("private,loopback", creates)
    await accepts("public", ["http://api.internal/"])
  })
})

describe("a name that leads to a refused address", () => {
  test("makes the timer wait, with the reason in its answers, in lists and in the metrics, and no attempt", () => {
    const egress = Result.getOrThrow(parseEgress("public"))
    const resolve = async () => ["10.0.0.1"]
    const { deliver } = makeWebhookDeliverer({ egress, resolve })
    return withService({ egress: "public", deliver }, async ({ call, fetch, pendingIn }) => {
      const key = { namespace: "shop", timerId: "t" }
      const created = await call("create", { ...timer, delay: "0s", callbackUrl: "https://sly.example/hook" })
      const { revision } = succeeded("create", created).timer
      const waiting = await eventually("it waits", async () => {
        const found = succeeded("get", await call("get", key)).timer
        return found.waiting === undefined ? undefined : found
      })
      expect(waiting).toMatchObject({
        state: "pending",
        attempts: 0,
        revision,
        waiting: { reason: "egressRefused" },
      })
      expect(waiting.waiting?.detail).toStartWith(
        "TIMER_EGRESS does not allow the address of sly.example. Nothing is sent and no attempt is used.",
      )
      const { timers } = succeeded("list", await call("list", { namespace: "shop" }))
      expect(timers[0]?.waiting?.reason).toBe("egressRefused")
      const metrics = (await fetch("/metrics")).text
      expect(metrics).toMatch(/^timer_egress_refused_hosts 1$/m)
      expect(metrics).toMatch(/^timer_egress_refused_timers 1$/m)
      expect(await pendingIn("shop")).toBe(1)
      expect(succeeded("delete", await call("delete", key)).result).toBe("cancelled")
    })
  })
})

describe("egress/check", () => {
  const check = async ({ post }: RunningService, url: string) =>
    succeeded("egress/check", await post("egress/check", { url }))

  test("says which entry allows an address, and shows a refused address only if the caller has named it", () => {
    const resolve = async (host: string) => (host === "hooks.example.com" ? ["8.8.8.8", "10.0.0.1"] : ["::1"])
    return withService({ egress: "public,*.internal", resolve }, async (running) => {
      expect(await check(running, "https://hooks.example.com/")).toEqual({
        allowed: true,
        verdict: "allowed",
        entry: "public",
        reason: "The entry public of TIMER_EGRESS allows it. The service does not call the other address.",
        addresses: [{ address: "8.8.8.8", allowed: true, entry: "public" }],
      })
      expect(await check(running, "https://sly.example.com/")).toEqual({
        allowed: false,
        verdict: "refused",
        reason: "No entry of TIMER_EGRESS allows the address of sly.example.com: add loopback.",
        addresses: [],
      })
      expect(await check(running, "https://api.internal/")).toMatchObject({
        allowed: true,
        entry: "*.internal",
      })
      expect(await check(running, "http://0x7f.1/")).toEqual({
        allowed: false,
        verdict: "refused",
        reason: "No entry of TIMER_EGRESS allows 127.0.0.1: add loopback.",
        addresses: [{ address: "127.0.0.1", allowed: false }],
      })
    })
  })

  test("never shows what a name resolves to if the rules refuse it", () => {
    const found = [
      "10.11.12.13",
      "127.0.0.7",
      "169.254.169.254",
      "100.64.9.9",
      "fd00:ec2::254",
      "fe80::7%eth0",
    ]
    let next = 0
    const resolve = async () => [found[next] ?? ""]
    return withService({ egress: "public,*.internal", resolve }, async ({ post }) => {
      for (const host of ["db.corp.example", "metadata.internal"]) {
        for (next = 0; next < found.length; next++) {
          const report = succeeded("egress/check", await post("egress/check", { url: `http://${host}/` }))
          if (!report.allowed) expect(JSON.stringify(report)).not.toContain(found[next] ?? "")
        }
      }
    })
  })

  test("says if a host cannot be resolved", () =>
    withService({ egress: "public,hooks.internal" }, async (running) => {
      const unknown = await check(running, "https://nowhere.example/")
      expect(unknown).toEqual({
        allowed: false,
        verdict: "unknown",
        reason:
          "nowhere.example cannot be resolved now, so its address cannot be checked. A timer with this URL tries again by its retry policy.",
        addresses: [],
      })
      expect(await check(running, "https://hooks.internal/")).toMatchObject({
        allowed: true,
        entry: "hooks.internal",
        addresses: [],
      })
      const billing = await check(running, "http://billing/")
      expect(billing.verdict).toBe("refused")
      expect(billing.reason).toContain("add host:billing")
    }))

  test("suggests no entry for the addresses of metadata services, and neither does a create", () =>
    withService({ egress: "public" }, async (running) => {
      const never =
        "It is a link-local address. The metadata service of a cloud uses such addresses, so no keyword of TIMER_EGRESS allows it: use another URL"
      const callbackUrl = "http://169.254.169.254/latest"
      expect((await check(running, callbackUrl)).reason).toBe(
        `No entry of TIMER_EGRESS allows 169.254.169.254. ${never}.`,
      )
      const created = refused(await running.call("create", { ...timer, callbackUrl }), "egressRefused")
      expect(created.detail).toBe(
        `/callbackUrl must not go to 169.254.169.254: TIMER_EGRESS of this service does not allow it. ${never}`,
      )
    }))

  test("refuses a check while two others resolve their hosts, and answers addresses even then", () => {
    const waiting: Array<(addresses: ReadonlyArray<string>) => void> = []
    const resolve = (): Promise<ReadonlyArray<string>> => new Promise((done) => waiting.push(done))
    return withService({ egress: "public", resolve }, async (running) => {
      const running2 = ["https://a.example/", "https://b.example/"].map((url) => check(running, url))
      // Both are at the resolver before the next request is sent.
      while (waiting.length < 2) await new Promise((done) => setImmediate(done))
      const third = refused(await running.post("egress/check", { url: "https://c.example/" }), "overloaded")
      expect(third).toMatchObject({ written: "no" })
      expect(await check(running, "http://8.8.8.8/")).toMatchObject({ allowed: true })
      for (const done of waiting) done(["8.8.8.8"])
      for (const checked of await Promise.all(running2)) expect(checked.allowed).toBe(true)
      waiting.length = 0
      const fourth = check(running, "https://c.example/")
      while (waiting.length < 1) await new Promise((done) => setImmediate(done))
      waiting[0]?.(["10.0.0.1"])
      expect(await fourth).toMatchObject({ allowed: false })
    })
  })

  test("that fails at once leaves its place to the next", () => {
    const resolve = (): never => {
      throw new Error("no")
    }
    return withService({ egress: "public", resolve }, async (running) => {
      for (let round = 0; round < 3; round++) {
        expect(await check(running, "https://a.example/")).toMatchObject({ allowed: false, addresses: [] })
      }
    })
  })

  test("shows at most 20 addresses, and refuses what is not a URL of a webhook", () => {
    const resolve = async () => Array.from({ length: 30 }, (_, n) => `8.8.8.${n}`)
    return withService({ egress: "public", resolve }, async (running) => {
      expect((await check(running, "https://many.example/")).addresses.length).toBe(20)
      refused(await running.post("egress/check", { url: "ftp://a.example/" }), "invalidRequest")
    })
  })
})
