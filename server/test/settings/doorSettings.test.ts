// The settings about hosts, origins and proxies.
import { describe, expect, test } from "bun:test"
import { allBuses } from "../../src/buses/all.ts"
import { type Environment, readConfiguration } from "../../src/settings/Configuration.ts"
import { allStores } from "../../src/stores/all.ts"

const read = (environment: Environment) =>
  readConfiguration(environment, { stores: allStores, buses: allBuses })

const doorOf = (environment: Environment) => {
  const found = read(environment)
  if ("problems" in found) throw new Error(found.problems.join("\n"))
  return found.configuration.door
}

const problemsOf = (environment: Environment): ReadonlyArray<string> => {
  const found = read(environment)
  return "problems" in found ? found.problems : []
}

test("by default the service knows no further hosts, origins, proxies or certificates", () => {
  expect(doorOf({})).toEqual({ isOnLoopback: true, hosts: [], corsOrigins: [] })
})

test("a service listens on loopback if only this machine can reach its address", () => {
  const isOn = (host: string) => doorOf({ TIMER_HTTP_HOST: host }).isOnLoopback
  expect(["127.0.0.1", "127.0.0.2", "localhost", "::1"].map(isOn)).toEqual([true, true, true, true])
  expect(["0.0.0.0", "::", "10.0.0.1", "timers.local"].map(isOn)).toEqual([false, false, false, false])
})

test("hosts are names with or without a port, also in other scripts, and the node's own address is one", () => {
  expect(
    doorOf({ TIMER_HTTP_HOSTS: "Timers.Example.com, timers.local:8080,[::2]:1,bücher.example" }).hosts,
  ).toEqual([
    { name: "timers.example.com" },
    { name: "timers.local", port: 8080 },
    { name: "::2", port: 1 },
    { name: "xn--bcher-kva.example" },
  ])
  const node = {
    TIMER_STORE_URL: "postgres://localhost/timers",
    TIMER_CLUSTER_SECRET: "x".repeat(32),
    TIMER_NODE_ADDRESS: "Node1:8080",
  }
  expect(doorOf(node).hosts).toEqual([{ name: "node1" }])
})

test("origins are kept in the form that browsers send", () => {
  expect(
    doorOf({ TIMER_CORS_ORIGINS: "https://Tools.example:443, http://localhost:3000" }).corsOrigins,
  ).toEqual(["https://tools.example", "http://localhost:3000"])
})

test("proxies are addresses and ranges", () => {
  const { trustedProxies } = doorOf({ TIMER_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.1,fd00::/8" })
  const isTrusted = (address: string) => trustedProxies?.has(address)
  expect(["10.1.2.3", "192.0.2.1", "fd00::1"].map(isTrusted)).toEqual([true, true, true])
  expect(["11.0.0.1", "192.0.2.2", "fe80::1"].map(isTrusted)).toEqual([false, false, false])
})

describe("a wrong value is refused with what to write:", () => {
  const wrong: ReadonlyArray<readonly [name: string, value: string, text: string]> = [
    ["TIMER_HTTP_HOSTS", "https://timers.example.com", "host names separated by commas"],
    ["TIMER_HTTP_HOSTS", "timers.example.com/path", "host names separated by commas"],
    ["TIMER_HTTP_HOSTS", "a,,b", "host names separated by commas"],
    ["TIMER_HTTP_HOSTS", "*", "host names separated by commas"],
    ["TIMER_HTTP_HOSTS", Array.from({ length: 101 }, () => "a").join(","), "at most 100"],
    ["TIMER_CORS_ORIGINS", "*", "origins separated by commas"],
    ["TIMER_CORS_ORIGINS", "tools.example", "origins separated by commas"],
    ["TIMER_CORS_ORIGINS", "https://tools.example/", "origins separated by commas"],
    ["TIMER_CORS_ORIGINS", "null", "origins separated by commas"],
    ["TIMER_TRUSTED_PROXIES", "proxy.example", "is not an address and not a range"],
    ["TIMER_TRUSTED_PROXIES", "10.0.0.0/33", "needs a prefix length from 0 to 32"],
    ["TIMER_TRUSTED_PROXIES", "", "is not an address"],
    ["TIMER_TLS_CERT_FILE", "", "must name a file"],
  ]
  for (const [name, value, text] of wrong) {
    test(`${name}=${value.slice(0, 30)}`, () => {
      const [problem = ""] = problemsOf({ [name]: value })
      expect(problem).toStartWith(name)
      expect(problem).toContain(text)
    })
  }
})
