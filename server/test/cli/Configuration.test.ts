// Settings: what they default to, what they may say, and that nothing misspelt passes in silence.
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { defaultLimits } from "@punctual/api/Limits"
import { type Environment, nearestName, readConfiguration } from "../../src/cli/Configuration.ts"
import { help } from "../../src/cli/help.ts"
import { settingNames } from "../../src/cli/Settings.ts"

const accepted = (environment: Environment) => {
  const read = readConfiguration(environment)
  if ("problems" in read) throw new Error(read.problems.join("\n"))
  return read
}

const problemsOf = (environment: Environment): ReadonlyArray<string> => {
  const read = readConfiguration(environment)
  return "problems" in read ? read.problems : []
}

describe("defaults", () => {
  test("are those that are documented", () => {
    const { configuration, warnings } = accepted({})
    expect(warnings).toEqual([])
    expect(configuration).toMatchObject({
      store: { kind: "sqlite", path: resolve("data/punctual.db") },
      httpHost: "127.0.0.1",
      httpPort: 8080,
      pollingIntervalMs: 5_000,
      batchSize: 500,
      shards: 16,
      historyRetentionMs: 7 * 86_400_000,
      logLevel: "info",
      limits: defaultLimits,
    })
    expect(configuration.egress.isOpen).toBe(true)
  })

  test("callbacks may reach everything only from a service that only its own machine can reach", () => {
    const isOpenOn = (host: string) => accepted({ TIMER_HTTP_HOST: host }).configuration.egress.isOpen
    expect(["127.0.0.1", "127.8.8.8", "localhost", "::1"].map(isOpenOn)).toEqual([true, true, true, true])
    expect(["0.0.0.0", "::", "10.0.0.1", "example.com"].map(isOpenOn)).toEqual([false, false, false, false])
    expect(accepted({ TIMER_HTTP_HOST: "0.0.0.0", TIMER_EGRESS: "open" }).configuration.egress.isOpen).toBe(
      true,
    )
  })

  test("stand in the help, each under its name", () => {
    for (const name of settingNames) expect(help()).toContain(name)
  })
})

describe("values", () => {
  test("durations are durations, and a bare number is milliseconds", () => {
    const intervalOf = (text: string) =>
      accepted({ TIMER_POLLING_INTERVAL: text }).configuration.pollingIntervalMs
    expect(["250", "250ms", "1m30s", "PT2S"].map(intervalOf)).toEqual([250, 250, 90_000, 2_000])
  })

  test("a store is named by URL, or a file by its path", () => {
    const storeOf = (environment: Environment) => accepted(environment).configuration.store
    expect(storeOf({ TIMER_STORE_URL: "memory:" })).toEqual({ kind: "memory" })
    for (const url of ["sqlite:/var/p.db", "sqlite:///var/p.db"]) {
      expect(storeOf({ TIMER_STORE_URL: url })).toEqual({ kind: "sqlite", path: "/var/p.db" })
    }
    expect(storeOf({ TIMER_DB_PATH: "x/p.db" })).toEqual({ kind: "sqlite", path: resolve("x/p.db") })
    expect(problemsOf({ TIMER_DB_PATH: "p.db", TIMER_STORE_URL: "memory:" })).toEqual([
      expect.stringContaining("only one"),
    ])
  })

  test("limits of the contract have names of their own", () => {
    const { limits } = accepted({ TIMER_LIMIT_PAYLOAD_BYTES: "1024", TIMER_LIMIT_AHEAD: "30d" }).configuration
    expect(limits).toEqual({ ...defaultLimits, payloadBytes: 1_024, aheadMs: 30 * 86_400_000 })
    expect(problemsOf({ TIMER_LIMIT_PAYLOAD_BYTES: "1000000", TIMER_LIMIT_BODY_BYTES: "999999" })).toEqual([
      "TIMER_LIMIT_PAYLOAD_BYTES must not be greater than TIMER_LIMIT_BODY_BYTES.",
    ])
  })

  test("a payload may not be allowed to be larger than the store can hold", () => {
    expect(accepted({ TIMER_LIMIT_PAYLOAD_BYTES: "1000000" }).configuration.limits.payloadBytes).toBe(1e6)
    expect(problemsOf({ TIMER_LIMIT_PAYLOAD_BYTES: "1000001" })).toEqual([expect.stringContaining("1 MiB")])
  })

  test("more deliveries at once than the runtime can send are refused, with what to set", () => {
    expect(accepted({ TIMER_MAX_IN_FLIGHT: "256" }).configuration.maxInFlight).toBe(256)
    const runtime = "BUN_CONFIG_MAX_HTTP_REQUESTS"
    for (const set of [undefined, "", "256", "299", "many"]) {
      expect(problemsOf({ TIMER_MAX_IN_FLIGHT: "300", [runtime]: set })).toEqual([
        expect.stringContaining(`${runtime}=300`),
      ])
    }
    expect(accepted({ TIMER_MAX_IN_FLIGHT: "300", [runtime]: "300" }).configuration.maxInFlight).toBe(300)
  })

  const wrong: Record<string, ReadonlyArray<string>> = {
    TIMER_HTTP_PORT: ["", "-1", "65536", "80a", "0x50"],
    TIMER_HTTP_HOST: ["", "a b"],
    TIMER_POLLING_INTERVAL: ["", "0", "5 s", "-5s", "1y"],
    TIMER_BATCH_SIZE: ["0", "10001", "1.5"],
    TIMER_SHARDS: ["0", "257", "many"],
    TIMER_HISTORY_RETENTION: ["forever"],
    TIMER_STORE_URL: ["", "postgres://h/db", "sqlite:", "sqlite::memory:", "/var/p.db"],
    TIMER_DB_PATH: [""],
    TIMER_BROKER_URL: ["nats://localhost:4222"],
    TIMER_CLOCK: ["manual", "manual:2030-01-01T00:00:00Z"],
    TIMER_EGRESS: ["", "public,10.0.0.0/33"],
    TIMER_LOG: ["verbose", "INFO"],
    TIMER_BODY_TIMEOUT: ["99", "240001", "5m"],
    TIMER_LIMIT_CREATE_MANY: ["0", "x"],
  }
  for (const [name, texts] of Object.entries(wrong)) {
    test(`${name} is refused when it says nonsense`, () => {
      for (const text of texts) {
        const problems = problemsOf({ [name]: text })
        expect(problems).toEqual([expect.stringContaining(name)])
        expect(problems[0]).not.toContain("\n")
      }
    })
  }

  test("everything that is wrong is told at once", () => {
    expect(problemsOf({ TIMER_HTTP_PORT: "x", TIMER_LOG: "x", TIMER_SHARDS: "x" }).length).toBe(3)
  })

  test("a password in a refused URL is not repeated", () => {
    const [problem] = problemsOf({ TIMER_STORE_URL: "postgres://user:hunter2@h/db" })
    expect(problem).not.toContain("hunter2")
  })
})

describe("names", () => {
  test("a near-miss is refused with what was meant", () => {
    for (const [typed, meant] of [
      ["TIMER_HTTP_PROT", "TIMER_HTTP_PORT"],
      ["TIMER_HTTPPORT", "TIMER_HTTP_PORT"],
      ["timer_http_port", "TIMER_HTTP_PORT"],
      ["TIMER_LOGS", "TIMER_LOG"],
      ["TIMER_DB_PTAH", "TIMER_DB_PATH"],
      ["TIMER_POLLING_INTERVALL", "TIMER_POLLING_INTERVAL"],
      ["TIMER_LIMIT_PAYLOAD_BYTE", "TIMER_LIMIT_PAYLOAD_BYTES"],
    ] as const) {
      expect(nearestName(typed)).toBe(meant)
      expect(problemsOf({ [typed]: "1" })).toEqual([`${typed} is not a setting: did you mean ${meant}?`])
    }
  })

  test("what an orchestrator injects for a service called timer is only warned of", () => {
    const injected = {
      TIMER_PORT: "tcp://10.0.0.1:8080",
      TIMER_SERVICE_HOST: "10.0.0.1",
      TIMER_SERVICE_PORT: "8080",
      TIMER_PORT_8080_TCP_ADDR: "10.0.0.1",
    }
    const { warnings, configuration } = accepted({ ...injected, OTHER: "x" })
    expect(warnings.length).toBe(4)
    expect(configuration.httpPort).toBe(8080)
  })
})

describe("the file that TIMER_CONFIG names", () => {
  const withFile = (text: string, use: (file: string) => void) => {
    const folder = mkdtempSync(join(tmpdir(), "punctual-configuration-"))
    try {
      const file = join(folder, "punctual.conf")
      writeFileSync(file, text)
      use(file)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  test("holds the same names, and the environment wins", () => {
    withFile('# a comment\n\nTIMER_SHARDS = 4\r\nTIMER_LOG="warn"\nTIMER_HTTP_PORT=1\n', (file) => {
      const { configuration, effective } = accepted({ TIMER_CONFIG: file, TIMER_HTTP_PORT: "2" })
      expect(configuration).toMatchObject({ shards: 4, logLevel: "warn", httpPort: 2 })
      expect(effective).toMatchObject({ TIMER_SHARDS: "4", TIMER_LOG: "warn", TIMER_HTTP_PORT: "2" })
    })
  })

  test("is judged like the environment, by line", () => {
    withFile("TIMER_SHARD=4\nnonsense\nTIMER_LOG=info\nTIMER_LOG=warn\nTIMER_CONFIG=x\n", (file) => {
      expect(problemsOf({ TIMER_CONFIG: file })).toEqual([
        expect.stringContaining("line 2"),
        expect.stringContaining("line 4"),
        expect.stringContaining("line 5"),
        expect.stringContaining("did you mean TIMER_SHARDS"),
      ])
    })
  })

  test("must be there", () => {
    expect(problemsOf({ TIMER_CONFIG: join(tmpdir(), "punctual-no-such-file") })).toEqual([
      expect.stringContaining("ENOENT"),
    ])
  })
})
