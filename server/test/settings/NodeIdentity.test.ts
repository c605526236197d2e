// The settings of nodes that share a store: which ones belong together, and what is logged without a secret.
import { describe, expect, test } from "bun:test"
import { allBuses } from "../../src/buses/all.ts"
import { type Environment, readConfiguration } from "../../src/settings/Configuration.ts"
import { isUnspecified, nodeUrl } from "../../src/settings/NodeIdentity.ts"
import { allStores } from "../../src/stores/all.ts"

const adapters = { stores: allStores, buses: allBuses }
const secret = "0123456789abcdef"
const shared = { TIMER_STORE_URL: "postgres://ann:pw@db:5432/timers", TIMER_CLUSTER_SECRET: secret }

const accepted = (environment: Environment) => {
  const read = readConfiguration(environment, adapters)
  if ("problems" in read) throw new Error(read.problems.join("\n"))
  return read
}

const problemsOf = (environment: Environment): ReadonlyArray<string> => {
  const read = readConfiguration(environment, adapters)
  return "problems" in read ? read.problems : []
}

describe("a cluster", () => {
  test("needs a secret, and the error says how to make one", () => {
    expect(problemsOf({ TIMER_STORE_URL: shared.TIMER_STORE_URL })).toEqual([
      expect.stringMatching(/^TIMER_CLUSTER_SECRET is missing.*openssl rand -hex 32/),
    ])
    for (const short of ["", "0123456789abcde", "with a space in it", "ünsichtbar-und-lang"]) {
      const problems = problemsOf({ ...shared, TIMER_CLUSTER_SECRET: short })
      expect(problems).toEqual([expect.stringMatching(/^TIMER_CLUSTER_SECRET must .*openssl rand -hex 32/)])
      if (short !== "") expect(problems.join()).not.toContain(short)
    }
  })

  test("keeps its secret out of the log of the settings", () => {
    const { effective, configuration } = accepted(shared)
    expect(effective["TIMER_CLUSTER_SECRET"]).toBe("…")
    expect(effective["TIMER_STORE_URL"]).toBe("postgres://…@db:5432/timers")
    expect(JSON.stringify(effective)).not.toContain(secret)
    expect(configuration.cluster?.secret).toBe(secret)
  })

  test("reaches this node where it listens, or where the setting says", () => {
    const addressOf = (environment: Environment) =>
      accepted({ ...shared, ...environment }).configuration.cluster?.address
    expect(addressOf({ TIMER_HTTP_HOST: "10.0.0.11" })).toEqual({ host: "10.0.0.11" })
    expect(addressOf({ TIMER_HTTP_HOST: "0.0.0.0", TIMER_NODE_ADDRESS: "a.internal:81" })).toEqual({
      host: "a.internal",
      port: 81,
    })
    expect(addressOf({ TIMER_NODE_ADDRESS: "[fd00::1]:8080" })).toEqual({ host: "fd00::1", port: 8080 })
    expect(addressOf({ TIMER_NODE_ADDRESS: "10.0.0.11" })).toEqual({ host: "10.0.0.11" })
  })

  test("uses the real port and the scheme of this node", () => {
    const listening = (port: number, scheme = "http") => ({ port, url: `${scheme}://127.0.0.1:${port}` })
    expect(nodeUrl({ host: "10.0.0.11" }, listening(40_123))).toBe("http://10.0.0.11:40123")
    expect(nodeUrl({ host: "10.0.0.11", port: 81 }, listening(40_123))).toBe("http://10.0.0.11:81")
    expect(nodeUrl({ host: "fd00::1" }, listening(81))).toBe("http://[fd00::1]:81")
    expect(nodeUrl({ host: "node1" }, listening(8443, "https"))).toBe("https://node1:8443")
  })

  test("cannot reach a node at a wildcard address", () => {
    for (const host of ["0.0.0.0", "::", "0:0:0:0:0:0:0:0", "::0", "0", "::ffff:0.0.0.0"]) {
      expect(isUnspecified(host)).toBe(true)
      expect(problemsOf({ ...shared, TIMER_HTTP_HOST: host })).toEqual([
        expect.stringMatching(/^TIMER_NODE_ADDRESS is missing/),
      ])
    }
    for (const host of ["127.0.0.1", "::1", "10.0.0.0", "fd00::", "localhost"]) {
      expect(isUnspecified(host)).toBe(false)
    }
    const wrong = [
      "",
      ":8080",
      "a:0",
      "a:65536",
      "a:b",
      "http://a:1",
      "a b",
      "fd00::1",
      "0.0.0.0:8080",
      "[::]:1",
    ]
    for (const TIMER_NODE_ADDRESS of wrong) {
      expect(problemsOf({ ...shared, TIMER_NODE_ADDRESS })).toEqual([
        expect.stringMatching(/^TIMER_NODE_ADDRESS must be /),
      ])
    }
  })

  test("warns about an address that only its own machine can reach", () => {
    expect(accepted(shared).warnings).toEqual([expect.stringContaining("TIMER_NODE_ADDRESS")])
    expect(accepted({ ...shared, TIMER_NODE_ADDRESS: "10.0.0.11:1" }).warnings).toEqual([])
    expect(accepted({}).warnings).toEqual([])
  })

  test("cannot be on a file or in memory", () => {
    for (const TIMER_STORE_URL of ["sqlite:p.db", "memory:"]) {
      for (const [name, value] of [
        ["TIMER_CLUSTER_SECRET", secret],
        ["TIMER_NODE_ADDRESS", "10.0.0.11:8080"],
      ] as const) {
        const problems = problemsOf({ TIMER_STORE_URL, [name]: value })
        expect(problems).toEqual([
          expect.stringContaining(`${name} only works with a store that nodes share`),
        ])
      }
      expect(accepted({ TIMER_STORE_URL }).configuration.cluster).toBeUndefined()
    }
  })

  test("knows a node by its configured name", () => {
    expect(accepted({ ...shared, TIMER_NODE_NAME: "punctual-1" }).configuration.nodeName).toBe("punctual-1")
    expect(accepted(shared).configuration.nodeName).toBeUndefined()
    for (const TIMER_NODE_NAME of ["", "a b", "-a", "x".repeat(101)]) {
      expect(problemsOf({ ...shared, TIMER_NODE_NAME })).toEqual([
        expect.stringMatching(/^TIMER_NODE_NAME must be /),
      ])
    }
  })
})
