import { describe, expect, test } from "bun:test"
import { cachedResolve, type Resolve, systemResolve } from "../../../src/deliverers/webhook/Resolver.ts"

const makeCache = (answer: Resolve, options: { ttlMs?: number; maxHosts?: number } = {}) => {
  const asked: Array<string> = []
  const clock = { nowMs: 0 }
  const resolve = cachedResolve(
    (host) => {
      asked.push(host)
      return answer(host)
    },
    { ttlMs: options.ttlMs ?? 100, maxHosts: options.maxHosts ?? 10, nowMs: () => clock.nowMs },
  )
  return { asked, clock, resolve }
}

describe("cachedResolve", () => {
  test("looks a name up once while the answer is fresh, and again after that", async () => {
    const { asked, clock, resolve } = makeCache(async () => ["192.0.2.1"])
    await Promise.all([resolve("a"), resolve("a")])
    clock.nowMs = 99
    expect(await resolve("a")).toEqual(["192.0.2.1"])
    expect(asked).toEqual(["a"])
    clock.nowMs = 100
    await resolve("a")
    expect(asked).toEqual(["a", "a"])
  })

  test("does not keep failures", async () => {
    let isUp = false
    const { resolve } = makeCache(async () => {
      if (!isUp) throw new Error("away")
      return ["192.0.2.1"]
    })
    await expect(resolve("a")).rejects.toThrow("away")
    isUp = true
    expect(await resolve("a")).toEqual(["192.0.2.1"])
  })

  test("keeps the latest hosts, up to its limit", async () => {
    const { asked, resolve } = makeCache(async () => ["192.0.2.1"], { maxHosts: 2 })
    for (const host of ["a", "b", "c", "c", "b", "a"]) await resolve(host)
    expect(asked).toEqual(["a", "b", "c", "a"])
  })
})

describe("systemResolve", () => {
  test("finds the addresses of this machine under its own name", async () => {
    const addresses = await systemResolve("localhost")
    expect(addresses.every((address) => address.startsWith("127.") || address === "::1")).toBe(true)
    expect(addresses.length).toBeGreaterThan(0)
  })
})
