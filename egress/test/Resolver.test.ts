// Lookups are limited for each namespace, time out, and are cached. The name servers of these tests answer when the test
// says so.
import { describe, expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { LookupTimeout, Resolver, type ResolverOptions } from "../src/Resolver.ts"
import { type Addresses, systemLookup } from "../src/systemLookup.ts"

/** A resolver whose name servers answer when the test says so. */
class ResolverRig {
  nowMs = 0
  readonly asked: Array<string> = []
  readonly #open = new Map<string, PromiseWithResolvers<Addresses>>()
  readonly resolver: Resolver

  constructor(options: Partial<ResolverOptions> = {}) {
    this.resolver = new Resolver({
      timeoutMs: 30_000,
      freshMs: 100,
      staleMs: 300,
      failureMs: 50,
      nowMs: () => this.nowMs,
      lookup: (host) => {
        this.asked.push(host)
        const answer = Promise.withResolvers<Addresses>()
        this.#open.set(host, answer)
        return answer.promise
      },
      ...options,
    })
  }

  resolve(host: string, namespace = "a"): Promise<Addresses> {
    const answer = this.resolver.resolve(host, namespace)
    const promise = Promise.resolve(answer)
    promise.catch(() => {})
    return promise
  }

  /** The answer that is there at once; `undefined` if a lookup is needed. */
  cached(host: string, namespace = "a"): Addresses | undefined {
    const answer = this.resolver.resolve(host, namespace)
    if (!(answer instanceof Promise)) return answer
    answer.catch(() => {})
    return undefined
  }

  answer(host: string, addresses: Addresses = ["192.0.2.1"]): void {
    this.#open.get(host)?.resolve(addresses)
  }

  fail(host: string): void {
    this.#open.get(host)?.reject(Object.assign(new Error("away"), { code: "ENOTFOUND" }))
  }

  /** Looks a name up and answers. */
  async learn(host: string, namespace = "a"): Promise<void> {
    const found = this.resolve(host, namespace)
    this.answer(host)
    await found
  }
}

describe("the cache", () => {
  test("attempts at the same time share a lookup, and a fresh answer is there at once", async () => {
    const rig = new ResolverRig()
    const both = [rig.resolve("x"), rig.resolve("x")]
    rig.answer("x")
    expect(await Promise.all(both)).toEqual([["192.0.2.1"], ["192.0.2.1"]])
    rig.nowMs = 99
    expect(rig.cached("x", "a")).toEqual(["192.0.2.1"])
    expect(rig.asked).toEqual(["x"])
  })

  test("a stale answer is used while one lookup renews it, and not beyond its end", async () => {
    const rig = new ResolverRig()
    await rig.learn("x")
    rig.nowMs = 100
    expect(rig.cached("x", "a")).toEqual(["192.0.2.1"])
    expect(rig.cached("x", "a")).toEqual(["192.0.2.1"])
    expect(rig.asked).toEqual(["x", "x"])
    rig.answer("x", ["192.0.2.2"])
    await eventually("the new answer", () => String(rig.cached("x", "a")) === "192.0.2.2" || undefined)
    rig.nowMs = 1_000
    expect(rig.cached("x", "a")).toBeUndefined()
  })

  test("a name that failed is not looked up again for a while", async () => {
    const rig = new ResolverRig()
    const first = rig.resolve("x")
    rig.fail("x")
    await expect(first).rejects.toThrow("away")
    rig.nowMs = 49
    await expect(rig.resolve("x")).rejects.toThrow("away")
    expect(rig.asked).toEqual(["x"])
    rig.nowMs = 50
    await rig.learn("x")
    expect(rig.asked).toEqual(["x", "x"])
  })

  test("a namespace with many names forgets its own oldest names and no others", async () => {
    const rig = new ResolverRig({ maxHosts: 6, maxHostsPerNamespace: 5 })
    await rig.learn("mine", "small")
    for (let name = 0; name < 20; name++) await rig.learn(`n${name}`, "large")
    expect(rig.resolver.hostCount).toBe(6)
    expect(rig.cached("mine", "small")).toEqual(["192.0.2.1"])
    expect(rig.cached("n19", "large")).toEqual(["192.0.2.1"])
    // At the limit of all hosts, the namespace that was used longest ago forgets its oldest name.
    expect(rig.cached("mine", "small")).toEqual(["192.0.2.1"])
    await rig.learn("third", "other")
    expect(rig.resolver.hostCount).toBe(6)
    expect(rig.cached("mine", "small")).toEqual(["192.0.2.1"])
    expect(rig.cached("n15", "large")).toBeUndefined()
  })
})

describe("slow names", () => {
  test("hold up only their own namespace", async () => {
    const rig = new ResolverRig({ maxPerNamespace: 4 })
    for (let name = 0; name < 100; name++) rig.resolve(`slow${name}`, "attacker")
    expect(rig.resolver.running).toBe(4)
    const other = rig.resolve("fast", "victim")
    expect(rig.asked.length).toBe(5)
    rig.answer("fast")
    expect(await other).toEqual(["192.0.2.1"])
    // The next name of the namespace starts when a lookup ends.
    rig.answer("slow0")
    await eventually("the next lookup", () => rig.asked.at(-1) === "slow4" || undefined)
    expect(rig.resolver.running).toBe(4)
  })

  test("take turns by namespace at the limit of all lookups", async () => {
    const rig = new ResolverRig({ maxPerNamespace: 3, maxLookups: 3 })
    for (let name = 0; name < 9; name++) rig.resolve(`a${name}`, "a")
    rig.resolve("b0", "b")
    rig.resolve("c0", "c")
    expect(rig.asked).toEqual(["a0", "a1", "a2"])
    for (const name of ["a0", "a1", "a2"]) rig.answer(name)
    await eventually("three more lookups", () => rig.asked.length === 6 || undefined)
    expect(rig.asked.slice(3).sort()).toEqual(["a3", "b0", "c0"])
  })

  test("time out; the lookup keeps its place until it ends, and its late answer is used", async () => {
    const rig = new ResolverRig({ maxPerNamespace: 1, timeoutMs: 1 })
    const slow = rig.resolve("slow")
    const behind = rig.resolve("behind")
    await expect(slow).rejects.toThrow("did not resolve within 1ms")
    await expect(slow).rejects.toMatchObject({ hasStarted: true })
    await expect(behind).rejects.toThrow("because other lookups of the namespace are slow")
    await expect(behind).rejects.toBeInstanceOf(LookupTimeout)
    expect(rig.resolver.running).toBe(1)
    // Another attempt fails at once, without another lookup.
    await expect(rig.resolve("slow")).rejects.toThrow("did not resolve")
    rig.answer("slow")
    await eventually("the end of the lookup", () => rig.resolver.running === 0 || undefined)
    expect(rig.cached("slow", "a")).toEqual(["192.0.2.1"])
    expect(rig.asked).toEqual(["slow"])
  })

  test("that fail late keep the failure that an attempt already saw, and its time", async () => {
    const rig = new ResolverRig({ timeoutMs: 1 })
    await expect(rig.resolve("slow")).rejects.toThrow("did not resolve within 1ms")
    rig.nowMs = 40
    rig.fail("slow")
    await eventually("the end of the lookup", () => rig.resolver.running === 0 || undefined)
    await expect(rig.resolve("slow")).rejects.toThrow("did not resolve within 1ms")
    rig.nowMs = 50
    await rig.learn("slow")
    expect(rig.asked).toEqual(["slow", "slow"])
  })

  test("leave the queue when nobody waits for them any more", async () => {
    const rig = new ResolverRig({ maxPerNamespace: 2, timeoutMs: 1 })
    const all = Array.from({ length: 500 }, (_, name) => rig.resolve(`slow${name}`))
    expect(rig.resolver.waiting).toBe(498)
    await Promise.allSettled(all)
    expect(rig.resolver.waiting).toBe(0)
    expect(rig.asked).toEqual(["slow0", "slow1"])
  })
})

test("a name that was slow once leaves the queue like any other", async () => {
  const rig = new ResolverRig({ maxPerNamespace: 1, timeoutMs: 1 })
  await expect(rig.resolve("x")).rejects.toThrow("did not resolve")
  rig.answer("x")
  await eventually("the late answer", () => rig.cached("x"))
  rig.nowMs = 10_000
  const slow = rig.resolve("slow")
  await expect(rig.resolve("x")).rejects.toThrow("other lookups of the namespace are slow")
  await expect(slow).rejects.toThrow("did not resolve")
  expect(rig.resolver.waiting).toBe(0)
})

describe("the names of this machine", () => {
  test("localhost needs no name server", () => {
    const rig = new ResolverRig()
    for (const host of ["localhost", "localhost.", "app.localhost"]) {
      expect(rig.cached(host)).toEqual(["127.0.0.1", "::1"])
    }
    expect(rig.cached("notlocalhost", "a")).toBeUndefined()
  })

  test("names of the hosts file are found", async () => {
    const addresses = await systemLookup("localhost")
    expect(addresses.every((address) => address.startsWith("127.") || address === "::1")).toBe(true)
    expect(addresses.length).toBeGreaterThan(0)
  })
})
