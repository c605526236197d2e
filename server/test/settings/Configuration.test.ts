// Settings: their defaults, their valid values, and that a misspelt name never passes silently.
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { rootCertificates } from "node:tls"
import { defaultLimits } from "@punctual/api/Limits"
import { allBuses } from "../../src/buses/all.ts"
import { settingsHelp } from "../../src/cli/service/help.ts"
import { formsOf } from "../../src/ports/Adapter.ts"
import { type Environment, readConfiguration, readStore } from "../../src/settings/Configuration.ts"
import { nearestName } from "../../src/settings/nearestName.ts"
import { settingNames } from "../../src/settings/Settings.ts"
import { allStores } from "../../src/stores/all.ts"

const adapters = { stores: allStores, buses: allBuses }

const accepted = (environment: Environment) => {
  const read = readConfiguration(environment, adapters)
  if ("problems" in read) throw new Error(read.problems.join("\n"))
  return read
}

const problemsOf = (environment: Environment): ReadonlyArray<string> => {
  const read = readConfiguration(environment, adapters)
  return "problems" in read ? read.problems : []
}

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

describe("defaults", () => {
  test("are told apart from what an operator set", () => {
    const { given, effective } = accepted({ TIMER_HTTP_PORT: "9999", PATH: "/bin" })
    expect([...given]).toEqual(["TIMER_HTTP_PORT"])
    expect(effective["TIMER_HTTP_HOST"]).toBe("127.0.0.1")
  })

  test("are the documented ones", () => {
    const { configuration, warnings } = accepted({})
    expect(warnings).toEqual([])
    expect(configuration).toMatchObject({
      store: { adapter: { name: "sqlite" }, place: resolve("data/punctual.db") },
      broker: { adapter: { name: "local" } },
      httpHost: "127.0.0.1",
      httpPort: 8080,
      pollingIntervalMs: 5_000,
      batchSize: 500,
      shards: 16,
      historyRetentionMs: 7 * 86_400_000,
      census: "on",
      logLevel: "info",
      limits: defaultLimits,
    })
    expect(configuration.egress.isOpen).toBe(true)
  })

  test("callbacks can reach everything only from a service that only its own machine can reach", () => {
    const isOpenOn = (host: string) => accepted({ TIMER_HTTP_HOST: host }).configuration.egress.isOpen
    expect(["127.0.0.1", "127.8.8.8", "localhost", "::1"].map(isOpenOn)).toEqual([true, true, true, true])
    expect(["0.0.0.0", "::", "10.0.0.1", "example.com"].map(isOpenOn)).toEqual([false, false, false, false])
    expect(accepted({ TIMER_HTTP_HOST: "0.0.0.0", TIMER_EGRESS: "open" }).configuration.egress.isOpen).toBe(
      true,
    )
  })

  test("are in the help, each under its name", () => {
    for (const name of settingNames) expect(settingsHelp(adapters)).toContain(name)
  })
})

describe("values", () => {
  test("durations have units, and a bare number is milliseconds", () => {
    const intervalOf = (text: string) =>
      accepted({ TIMER_POLLING_INTERVAL: text }).configuration.pollingIntervalMs
    expect(["250", "250ms", "1m30s", "PT2S"].map(intervalOf)).toEqual([250, 250, 90_000, 2_000])
  })

  test("a store is named by URL, or a file by its path", () => {
    const storeOf = (environment: Environment) => accepted(environment).configuration.store.shown
    expect(storeOf({ TIMER_STORE_URL: "memory:" })).toBe("memory:")
    for (const url of ["sqlite:/var/p.db", "sqlite:///var/p.db"]) {
      expect(storeOf({ TIMER_STORE_URL: url })).toBe("sqlite:/var/p.db")
    }
    expect(storeOf({ TIMER_DB_PATH: "x/p.db" })).toBe(`sqlite:${resolve("x/p.db")}`)
    expect(problemsOf({ TIMER_DB_PATH: "p.db", TIMER_STORE_URL: "memory:" })).toEqual([
      expect.stringContaining("only one"),
    ])
  })

  test("limits of the contract have their own names", () => {
    const { limits } = accepted({ TIMER_LIMIT_PAYLOAD_BYTES: "1024", TIMER_LIMIT_AHEAD: "30d" }).configuration
    expect(limits).toEqual({ ...defaultLimits, payloadBytes: 1_024, aheadMs: 30 * 86_400_000 })
    expect(problemsOf({ TIMER_LIMIT_PAYLOAD_BYTES: "1000000", TIMER_LIMIT_BODY_BYTES: "999999" })).toEqual([
      "TIMER_LIMIT_PAYLOAD_BYTES must not be greater than TIMER_LIMIT_BODY_BYTES.",
    ])
  })

  test("a payload limit above what the store can hold is refused", () => {
    expect(accepted({ TIMER_LIMIT_PAYLOAD_BYTES: "1000000" }).configuration.limits.payloadBytes).toBe(1e6)
    expect(problemsOf({ TIMER_LIMIT_PAYLOAD_BYTES: "1000001" })).toEqual([expect.stringContaining("1 MiB")])
  })

  test("more deliveries at once than the runtime can send are refused, with what to set", () => {
    expect(accepted({ TIMER_MAX_IN_FLIGHT: "256", TIMER_SLOW_SHARE: "0%" }).configuration.slots.normal).toBe(
      256,
    )
    const runtime = "BUN_CONFIG_MAX_HTTP_REQUESTS"
    for (const set of [undefined, "", "256", "299", "many"]) {
      expect(problemsOf({ TIMER_MAX_IN_FLIGHT: "300", [runtime]: set })).toEqual([
        expect.stringContaining(`${runtime}=360`),
      ])
    }
    expect(accepted({ TIMER_MAX_IN_FLIGHT: "300", [runtime]: "360" }).configuration.slots.normal).toBe(300)
  })

  test("slots for slow hosts are a share of the others, also if the runtime cannot run them all", () => {
    const slotsOf = (environment: Record<string, string>) => {
      const { configuration, warnings } = accepted(environment)
      return [configuration.slots.normal, configuration.slots.slow, warnings.length]
    }
    const [maxInFlight, runtime, share] = [
      "TIMER_MAX_IN_FLIGHT",
      "BUN_CONFIG_MAX_HTTP_REQUESTS",
      "TIMER_SLOW_SHARE",
    ]
    expect(slotsOf({})).toEqual([200, 40, 0])
    expect(slotsOf({ [share]: "0%" })).toEqual([200, 0, 0])
    expect(slotsOf({ [share]: "0%", [maxInFlight]: "256" })).toEqual([256, 0, 0])
    expect(slotsOf({ [maxInFlight]: "3" })).toEqual([3, 1, 0])
    expect(slotsOf({ [share]: "28%" })).toEqual([200, 56, 0])
    expect(slotsOf({ [share]: "50%" })).toEqual([170, 85, 1])
    expect(slotsOf({ [maxInFlight]: "256" })).toEqual([213, 43, 1])
    expect(slotsOf({ [share]: "1%", [maxInFlight]: "256" })).toEqual([253, 3, 1])
    expect(slotsOf({ [maxInFlight]: "1", [runtime]: "2" })).toEqual([1, 1, 0])
    expect(accepted({ [maxInFlight]: "250" }).warnings).toEqual([
      "TIMER_MAX_IN_FLIGHT is 250, but the runtime makes at most 256 requests at once. So at most 213 deliveries run at once, and 43 more to hosts that do not answer (TIMER_SLOW_SHARE): also set BUN_CONFIG_MAX_HTTP_REQUESTS=300 in the environment (not in the file), or use a smaller TIMER_MAX_IN_FLIGHT.",
    ])
    expect(slotsOf({ [maxInFlight]: "250", [runtime]: "300" })).toEqual([250, 50, 0])
  })

  test("slots for new hosts are what the runtime has left, in proportion to the others and at most 1,000", () => {
    const trialsOf = (environment: Record<string, string>) => accepted(environment).configuration.slots.trial
    const runtime = "BUN_CONFIG_MAX_HTTP_REQUESTS"
    expect(trialsOf({})).toBe(16)
    expect(trialsOf({ [runtime]: "1024" })).toBe(784)
    expect(trialsOf({ [runtime]: "10000" })).toBe(800)
    expect(trialsOf({ [runtime]: "10000", TIMER_MAX_IN_FLIGHT: "500" })).toBe(1_000)
    expect(trialsOf({ [runtime]: "1024", TIMER_MAX_IN_FLIGHT: "3" })).toBe(12)
    expect(trialsOf({ [runtime]: "1024", TIMER_MAX_IN_FLIGHT: "900" })).toBe(0)
    expect(trialsOf({ [runtime]: "1024", TIMER_SLOW_SHARE: "0%" })).toBe(0)
  })

  test("name servers are addresses with or without a port", () => {
    for (const servers of ["10.0.0.2", "10.0.0.2:5353", "fd00::2", "[fd00::2]:5353"]) {
      expect(accepted({ TIMER_DNS_SERVERS: servers }).configuration.dnsServers).toEqual([servers])
    }
    expect(accepted({ TIMER_DNS_SERVERS: "10.0.0.2, 10.0.0.3" }).configuration.dnsServers).toEqual([
      "10.0.0.2",
      "10.0.0.3",
    ])
    expect(accepted({}).configuration.dnsServers).toEqual([])
  })

  const wrong: Record<string, ReadonlyArray<string>> = {
    TIMER_SLOW_SHARE: ["", "20", "0.2", "101%", "-1%", "20 %"],
    TIMER_MAX_LOOKUPS_PER_NAMESPACE: ["", "0", "1001"],
    TIMER_LOOKUP_TIMEOUT: ["", "99ms", "61s"],
    TIMER_DNS_SERVERS: [
      "dns.example",
      "10.0.0.2:0",
      "10.0.0.2:65536",
      "10.0.0.2,",
      "[10.0.0.2]:53",
      "[fd00::2]",
      Array.from({ length: 9 }, () => "10.0.0.2").join(),
    ],
    TIMER_HTTP_PORT: ["", "-1", "65536", "80a", "0x50"],
    TIMER_HTTP_HOST: ["", "a b"],
    TIMER_POLLING_INTERVAL: ["", "0", "5 s", "-5s", "1y"],
    TIMER_BATCH_SIZE: ["0", "10001", "1.5"],
    TIMER_SHARDS: ["0", "257", "many"],
    TIMER_HISTORY_RETENTION: ["forever"],
    TIMER_STORE_URL: ["", "oracle://h/db", "sqlite:", "sqlite::memory:", "/var/p.db"],
    TIMER_DB_PATH: [""],
    TIMER_BROKER_URL: [
      "",
      "local",
      "localhost:4222",
      "stomp://localhost",
      "amqp://localhost/a/b",
      "nats:localhost",
      "nats://",
      "nats://h:0",
      "nats://h:65536",
      "nats://h:port",
      "nats://h,",
      "nats://h1,nats://h2",
      "nats://h/stream",
      "nats://h?tls=true",
      "nats://::1",
      "nats://[::1",
      "nats://[h]:4222",
      "nats://-h",
      "nats://a b",
      "nats://@h",
      "nats://:secret@h",
      "nats://user:@h",
      "nats://user:100%@h",
      "nats://u:p@h1,u:p@h2",
      `nats://${Array.from({ length: 17 }, (_, index) => `h${index}`).join(",")}`,
    ],
    TIMER_BROKER_CA_FILE: [""],
    TIMER_BROKER_CERT_FILE: [""],
    TIMER_BROKER_KEY_FILE: [""],
    TIMER_BROKER_REPLICAS: ["", "0", "6", "three"],
    TIMER_BROKER_SYNC: ["", "never", "ALWAYS"],
    TIMER_CLOCK: [
      "",
      "Manual",
      "manual:",
      "manual:2030-01-01",
      "manual:1969-12-31T23:59:59Z",
      "manual:9999-01-01T00:00:00Z",
    ],
    TIMER_SECRET_KEY: [
      "",
      "hunter2",
      `${"a".repeat(64)},`,
      "a".repeat(63),
      "b".repeat(66),
      ["c", "d", "e"].map((digit) => digit.repeat(64)).join(),
    ],
    TIMER_EGRESS: ["", "public,10.0.0.0/33"],
    TIMER_LOG: ["verbose", "INFO"],
    TIMER_BODY_TIMEOUT: ["99", "240001", "5m"],
    TIMER_MAX_CONNECTIONS: ["9", "1000001", "many"],
    TIMER_MAX_CONNECTIONS_PER_ADDRESS: ["0", "1000001", "-1"],
    TIMER_LIMIT_CREATE_MANY: ["0", "x"],
  }
  for (const [name, texts] of Object.entries(wrong)) {
    test(`${name} is refused when its value is nonsense`, () => {
      for (const text of texts) {
        const problems = problemsOf({ [name]: text })
        expect(problems).toEqual([expect.stringContaining(name)])
        expect(problems[0]).not.toContain("\n")
      }
    })
  }

  test("all mistakes are reported at once", () => {
    expect(problemsOf({ TIMER_HTTP_PORT: "x", TIMER_LOG: "x", TIMER_SHARDS: "x" }).length).toBe(3)
  })
})

describe("the broker", () => {
  const brokerOf = (url: string, environment: Environment = {}) =>
    accepted({ TIMER_BROKER_URL: url, ...environment }).configuration

  test("is the adapter of its scheme, with the given settings", () => {
    expect(brokerOf("nats://h")).toMatchObject({
      broker: { adapter: { name: "nats" }, shown: "nats://h" },
      brokerTerms: { replicas: 1, isSynced: false },
    })
    withFile(rootCertificates[0] ?? "", (file) => {
      const terms = brokerOf("tls://ann:pw@h", { TIMER_BROKER_CA_FILE: relative(".", file) }).brokerTerms
      expect(terms).toMatchObject({ caFile: file, replicas: 1, isSynced: false })
    })
  })

  test("an authority's file must exist and must be a certificate", () => {
    const problemsWith = (file: string) =>
      problemsOf({ TIMER_BROKER_URL: "tls://h", TIMER_BROKER_CA_FILE: file })
    expect(problemsWith(join(tmpdir(), "punctual-no-such-file"))).toEqual([
      expect.stringMatching(/^TIMER_BROKER_CA_FILE .*ENOENT/),
    ])
    expect(problemsWith(tmpdir())).toEqual([expect.stringMatching(/^TIMER_BROKER_CA_FILE .*EISDIR/)])
    withFile("not a certificate", (file) =>
      expect(problemsWith(file)).toEqual([expect.stringContaining("BEGIN CERTIFICATE")]),
    )
  })

  test("operators decide how its stream is made and kept", () => {
    const byDefault = {
      replicas: 1,
      isSynced: false,
      stream: "svc",
      prefix: "svc",
      subjects: "shared",
      queues: 8,
    }
    expect<unknown>(brokerOf("nats://h").brokerTerms).toMatchObject(byDefault)
    const set = {
      TIMER_BROKER_REPLICAS: "3",
      TIMER_BROKER_SYNC: "always",
      TIMER_BROKER_STREAM: "calls",
      TIMER_BROKER_PREFIX: "prod-1",
      TIMER_BROKER_SUBJECTS: "split",
    }
    expect<unknown>(brokerOf("nats://h", set).brokerTerms).toMatchObject({
      replicas: 3,
      isSynced: true,
      stream: "calls",
      prefix: "prod-1",
      subjects: "split",
      queues: 8,
    })
  })

  test("operators decide how many queues it has, or that each tenant has one", () => {
    const queuesOf = (TIMER_BROKER_QUEUES: string) =>
      brokerOf("amqp://h", { TIMER_BROKER_QUEUES }).brokerTerms.queues
    expect([queuesOf("1"), queuesOf("64"), queuesOf("tenant")]).toEqual([1, 64, "tenant"])
    for (const TIMER_BROKER_QUEUES of ["", "0", "65", "-1", "1.5", "tenants"]) {
      expect(problemsOf({ TIMER_BROKER_URL: "amqp://h", TIMER_BROKER_QUEUES })).toEqual([
        expect.stringMatching(/^TIMER_BROKER_QUEUES must be tenant, or a number of queues from 1 to 64/),
      ])
    }
    expect(problemsOf({ TIMER_BROKER_URL: "nats://h", TIMER_BROKER_QUEUES: "4" })).toEqual([
      expect.stringMatching(/^TIMER_BROKER_QUEUES is 4, but TIMER_BROKER_URL is nats:/),
    ])
    expect(problemsOf({ TIMER_BROKER_URL: "amqp://h", TIMER_BROKER_STREAM: "x" })).toEqual([
      expect.stringMatching(/^TIMER_BROKER_STREAM is x, but TIMER_BROKER_URL is amqp:/),
    ])
  })

  test("operators decide the topic and the partitions on Kafka", () => {
    expect(brokerOf("kafka://h").brokerTerms).toMatchObject({ topic: "service.events", partitions: 12 })
    const set = {
      TIMER_BROKER_TOPIC: "prod.calls",
      TIMER_BROKER_PARTITIONS: "24",
      TIMER_BROKER_REPLICAS: "3",
    }
    expect(brokerOf("kafka+ssl://h", set).brokerTerms).toMatchObject({
      topic: "prod.calls",
      partitions: 24,
      replicas: 3,
    })
    for (const topic of ["", ".", "a.", "a b", "a/b", "x".repeat(101)]) {
      const problems = problemsOf({ TIMER_BROKER_URL: "kafka://h", TIMER_BROKER_TOPIC: topic })
      expect(problems).toEqual([expect.stringMatching(/^TIMER_BROKER_TOPIC must be 1 to 100/)])
    }
    expect(problemsOf({ TIMER_BROKER_URL: "nats://h", TIMER_BROKER_TOPIC: "x" })).toEqual([
      expect.stringMatching(/^TIMER_BROKER_TOPIC is x, but TIMER_BROKER_URL is nats:/),
    ])
    expect(problemsOf({ TIMER_BROKER_URL: "kafka://h", TIMER_BROKER_STREAM: "x" })).toEqual([
      expect.stringMatching(/^TIMER_BROKER_STREAM is x, but TIMER_BROKER_URL is kafka:/),
    ])
  })

  test("a value that would be more than one part of an address is refused", () => {
    for (const word of ["", "a.b", "*", ">", "a b", "x".repeat(33)]) {
      const problems = problemsOf({ TIMER_BROKER_URL: "nats://h", TIMER_BROKER_PREFIX: word })
      expect(problems).toEqual([expect.stringMatching(/^TIMER_BROKER_PREFIX must be 1 to 32/)])
    }
    expect(problemsOf({ TIMER_BROKER_URL: "nats://h", TIMER_BROKER_SUBJECTS: "both" })).toEqual([
      expect.stringMatching(/^TIMER_BROKER_SUBJECTS must be shared or split/),
    ])
  })

  test("a setting without an effect is refused, unless it is the default", () => {
    withFile(rootCertificates[0] ?? "", (file) => {
      for (const url of ["local:", "nats://h"]) {
        expect(problemsOf({ TIMER_BROKER_URL: url, TIMER_BROKER_CA_FILE: file })).toEqual([
          expect.stringMatching(/^TIMER_BROKER_CA_FILE .*tls:\/\//),
        ])
      }
    })
    expect(problemsOf({ TIMER_BROKER_REPLICAS: "3", TIMER_BROKER_SYNC: "always" })).toEqual([
      expect.stringMatching(/^TIMER_BROKER_REPLICAS is 3, but TIMER_BROKER_URL is local:/),
      expect.stringMatching(/^TIMER_BROKER_SYNC is always, but TIMER_BROKER_URL is local:/),
    ])
    const unchanged = { TIMER_BROKER_REPLICAS: "1", TIMER_BROKER_SYNC: "lazy" }
    expect(brokerOf("local:", unchanged).broker.shown).toBe("local:")
  })
})

describe("the secret key", () => {
  const [first, second] = [Buffer.alloc(32, 0xfb), Buffer.alloc(32, 0xab)]
  const keysOf = (text: string) => accepted({ TIMER_SECRET_KEY: text }).configuration.secretKeys

  test("is 32 bytes in hex or base64", () => {
    const texts = [
      first.toString("hex"),
      first.toString("hex").toUpperCase(),
      first.toString("base64"),
      first.toString("base64url"),
    ]
    for (const text of texts) expect(keysOf(text)).toEqual([first])
    expect(accepted({}).configuration.secretKeys).toBeUndefined()
  })

  test("may be two keys during a rotation, with the sealing key first", () => {
    expect(keysOf(`${second.toString("hex")}, ${first.toString("base64")}`)).toEqual([second, first])
  })
})

describe("credentials", () => {
  test("are not in the log of the settings", () => {
    const shown = (url: string) => accepted({ TIMER_BROKER_URL: url }).effective["TIMER_BROKER_URL"]
    expect(shown("nats://ann:hunter2@h1:4222,h2")).toBe("nats://…@h1:4222,h2")
    expect(shown("tls://hunter2@h")).toBe("tls://…@h")
    expect(shown("nats://ann:hun%40ter2@h")).toBe("nats://…@h")
    expect(shown("nats://h1,h2:5")).toBe("nats://h1,h2:5")
    expect(shown("local:")).toBe("local:")
    // A path that looks like a URL is not a store's name. It is accepted, but may have been meant as a URL.
    for (const path of ["postgres://ann:hunter2@h/db", "postgres://ann:hun/t@er2@h/db"]) {
      expect(accepted({ TIMER_DB_PATH: path }).effective["TIMER_DB_PATH"]).toBe("postgres://…@h/db")
    }
  })

  test("a secret key is in no message, whether it is valid or refused", () => {
    const key = "0f".repeat(32)
    expect(accepted({ TIMER_SECRET_KEY: key }).effective["TIMER_SECRET_KEY"]).toBe("…")
    expect(accepted({}).effective).not.toHaveProperty("TIMER_SECRET_KEY")
    expect(problemsOf({ TIMER_SECRET_KEY: `${key}0` }).join()).not.toContain("0f0f")
  })

  test("the name of a file does not count as a secret", () => {
    const url = "sqlite:///home/me@work/p.db"
    expect(accepted({ TIMER_STORE_URL: url }).effective["TIMER_STORE_URL"]).toBe(url)
  })

  test("are not repeated when the URL is refused, for any mistake", () => {
    const refused = [
      "nats://ann:hun/ter2@h",
      "nats://ann:hun@ter2@h",
      "nats://ann:hun?ter2@h",
      "nats://ann:hun#ter2@h",
      "nats://ann:hun,ter2@h",
      "nats://ann:hun\nter2@h",
      "nats://ann:hun%ter2@h",
      "nats://ann:hunter2@",
      "nats://ann:hunter2@h/path",
      "nats://ann:hunter2@h1,ann:hunter2@h2",
      "nats://ann:hunter2@h:99999",
      "nats://ann:hunter2",
      "nats://h?password=hunter2",
      "nats://h/hunter2",
      "nats:ann:hunter2@h",
      "ann:hunter2@h",
      "amqp://ann:hun/ter2@h",
      "amqp://ann:hun@ter2@h",
      "amqp://ann:hunter2@h/v/host",
      "amqp://ann:hunter2",
      "amqp:ann:hunter2@h",
      "stomp://ann:hunter2@h",
      "local:hunter2@h",
    ]
    for (const url of refused) {
      const problems = problemsOf({ TIMER_BROKER_URL: url })
      expect(problems).toEqual([expect.stringContaining("TIMER_BROKER_URL")])
      expect(problems.join()).not.toMatch(/hun|ter2/)
    }
    for (const url of ["oracle://ann:hunter2@h/db", "postgres://ann:hun/t@er2@h/db", "ann:hunter2@h"]) {
      const problems = problemsOf({ TIMER_STORE_URL: url })
      expect(problems).toEqual([expect.stringContaining("TIMER_STORE_URL")])
      expect(problems.join()).not.toMatch(/hun|er2/)
    }
  })

  test("that cannot be read are refused with how to write them", () => {
    for (const password of ["a/b", "a@b", "a?b", "a#b", "a,b", "a b"]) {
      expect(problemsOf({ TIMER_BROKER_URL: `nats://ann:${password}@h` })).toEqual([
        expect.stringContaining("percent-encode @ / ? # , and spaces"),
      ])
    }
    expect(problemsOf({ TIMER_BROKER_URL: "nats://ann:100%@h" })).toEqual([expect.stringContaining("%25")])
  })
})

describe("the clock", () => {
  const instant = "2030-01-01T00:00:00Z"

  test("is the system's unless it is manual, from an instant or from the real time", () => {
    expect(accepted({}).configuration.clock).toEqual({ kind: "system" })
    expect(accepted({ TIMER_CLOCK: "manual" }).configuration.clock).toEqual({ kind: "manual" })
    const { configuration, effective } = accepted({ TIMER_CLOCK: `manual:${instant}` })
    expect(configuration.clock).toEqual({ kind: "manual", startMs: Date.parse(instant) })
    expect(effective["TIMER_CLOCK"]).toBe(`manual:${instant}`)
  })

  test("cannot be manual on nodes that share a store, because they would disagree on the time", () => {
    const shared = { TIMER_STORE_URL: "postgres://h/db", TIMER_CLUSTER_SECRET: "a".repeat(64) }
    expect(accepted(shared).configuration.clock).toEqual({ kind: "system" })
    expect(problemsOf({ ...shared, TIMER_CLOCK: "manual" })).toEqual([
      expect.stringMatching(/^TIMER_CLOCK is manual, .* TIMER_STORE_URL/),
    ])
  })
})

describe("names", () => {
  test("a near-miss is refused with the intended name", () => {
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

  test("variables that an orchestrator injects for a service called timer only cause a warning", () => {
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
  test("has the same names, and the environment wins", () => {
    withFile('# a comment\n\nTIMER_SHARDS = 4\r\nTIMER_LOG="warn"\nTIMER_HTTP_PORT=1\n', (file) => {
      const { configuration, effective } = accepted({ TIMER_CONFIG: file, TIMER_HTTP_PORT: "2" })
      expect(configuration).toMatchObject({ shards: 4, logLevel: "warn", httpPort: 2 })
      expect(effective).toMatchObject({ TIMER_SHARDS: "4", TIMER_LOG: "warn", TIMER_HTTP_PORT: "2" })
    })
  })

  test("is checked like the environment, by line", () => {
    withFile("TIMER_SHARD=4\nnonsense\nTIMER_LOG=info\nTIMER_LOG=warn\nTIMER_CONFIG=x\n", (file) => {
      expect(problemsOf({ TIMER_CONFIG: file })).toEqual([
        expect.stringContaining("line 2"),
        expect.stringContaining("line 4"),
        expect.stringContaining("line 5"),
        expect.stringContaining("did you mean TIMER_SHARDS"),
      ])
    })
  })

  test("must exist", () => {
    expect(problemsOf({ TIMER_CONFIG: join(tmpdir(), "punctual-no-such-file") })).toEqual([
      expect.stringContaining("ENOENT"),
    ])
  })
})

describe("the store of a command", () => {
  const storeOf = (environment: Environment, byFlag?: string) => {
    const read = readStore(environment, allStores, { byFlag })
    return "problems" in read ? read : { shown: read.store.shown, shards: read.shards }
  }

  test("is the configured one, unless a flag names another; no other setting is needed", () => {
    const shown = `sqlite:${resolve("p.db")}`
    expect(storeOf({ TIMER_DB_PATH: "p.db", TIMER_SHARDS: "4" })).toEqual({ shown, shards: 4 })
    const byUrl = { shown: "postgres://h/db", shards: 16 }
    expect(storeOf({ TIMER_STORE_URL: "postgres://h/db" })).toEqual(byUrl)
    expect(storeOf({ TIMER_DB_PATH: "p.db" }, "postgres://h/db")).toEqual(byUrl)
  })

  test("needs no file of a secret that the command does not use", () => {
    const missing = {
      TIMER_BROKER_URL_FILE: "/nowhere/broker",
      TIMER_CLUSTER_SECRET_FILE: "/nowhere/cluster",
      TIMER_SECRET_KEY_FILE: "/nowhere/key",
    }
    const byUrl = { shown: "postgres://h/db", shards: 16 }
    expect(storeOf({ ...missing, TIMER_STORE_URL: "postgres://h/db" })).toEqual(byUrl)
    expect(storeOf({ ...missing, TIMER_STORE_URL_FILE: "/nowhere/url" }, "postgres://h/db")).toEqual(byUrl)
    const problemsOf = (environment: Environment, usesKeys: boolean) => {
      const read = readStore(environment, allStores, { usesKeys })
      return "problems" in read ? read.problems : []
    }
    expect(problemsOf({ TIMER_STORE_URL_FILE: "/nowhere/url" }, false)[0]).toContain("TIMER_STORE_URL_FILE")
    expect(problemsOf(missing, true)).toEqual([expect.stringContaining("TIMER_SECRET_KEY_FILE")])
  })

  test("comes with the name servers of the service and its time for a lookup", () => {
    const egressOf = (environment: Environment) => {
      const read = readStore(environment, allStores)
      return "problems" in read ? read : read.egress
    }
    expect(egressOf({})).toMatchObject({ dnsServers: [], lookupTimeoutMs: 3_000 })
    const set = { TIMER_DNS_SERVERS: "10.0.0.2", TIMER_LOOKUP_TIMEOUT: "1s" }
    expect(egressOf(set)).toMatchObject({ dnsServers: ["10.0.0.2"], lookupTimeoutMs: 1_000 })
  })

  test("is refused with the name of the wrong setting, and with the valid URLs", () => {
    const forms = formsOf(allStores)
    expect(storeOf({ TIMER_STORE_URL: "oracle://ann:hunter2@h" })).toEqual({
      problems: [`TIMER_STORE_URL must be ${forms}; it is "oracle://…@h".`],
    })
    const meant = (path: string) => ({
      problems: [
        `TIMER_STORE_URL must be ${forms}, so most likely sqlite:${path}; it is ${JSON.stringify(path)}.`,
      ],
    })
    for (const path of ["./x.db", "./data/x.db", "/var/lib/punctual.sqlite", "timers.db"]) {
      expect(storeOf({ TIMER_STORE_URL: path })).toEqual(meant(path))
    }
    // It may be a password: nothing of it is shown, and nothing is said in its place.
    expect(storeOf({ TIMER_STORE_URL: "hunter2!" })).toEqual({
      problems: [`TIMER_STORE_URL must be ${forms}.`],
    })
    expect(storeOf({}, "nonsense")).toEqual({ problems: [expect.stringMatching(/^--store must be sqlite:/)] })
  })
})

describe("a secret in a file of its own", () => {
  const url = "postgres://punctual:a-password@db.example.com:5432/timers"

  test("is the value of the setting, without the blanks around it, and is not shown", () => {
    withFile(`${url}\n`, (file) => {
      const secret = "0123456789abcdef0123"
      const { configuration, effective } = accepted({
        TIMER_STORE_URL_FILE: file,
        TIMER_CLUSTER_SECRET: secret,
      })
      expect(configuration.store.adapter.name).toBe("postgres")
      expect(JSON.stringify(effective)).not.toContain("a-password")
      expect(readStore({ TIMER_STORE_URL_FILE: file }, allStores)).toMatchObject({
        store: { adapter: { name: "postgres" } },
      })
    })
  })

  test("can also be named in the file of settings", () => {
    withFile("0".repeat(64), (file) =>
      withFile(`TIMER_SECRET_KEY_FILE=${file}\n`, (settingsFile) => {
        expect(accepted({ TIMER_CONFIG: settingsFile }).configuration.secretKeys).toHaveLength(1)
      }),
    )
  })

  test("is refused if it is given twice, missing, empty, too long or has several lines, and is never shown", () => {
    const of = (file: string, more: Environment = {}) => problemsOf({ TIMER_STORE_URL_FILE: file, ...more })
    withFile(url, (file) =>
      expect(of(file, { TIMER_STORE_URL: "memory:" })).toEqual([
        "TIMER_STORE_URL and TIMER_STORE_URL_FILE mean the same: set only one of them.",
      ]),
    )
    expect(of("/nowhere/url")).toEqual([
      "TIMER_STORE_URL_FILE names a file that does not exist: /nowhere/url",
    ])
    expect(of("")).toEqual(["TIMER_STORE_URL_FILE is empty: give the path of a file, or remove the setting."])
    expect(of(tmpdir())[0]).toContain("must name a file")
    withFile(" \n", (file) => expect(of(file)[0]).toContain("names an empty file"))
    withFile("x".repeat(20_000), (file) => expect(of(file)[0]).toContain("at most 16384 bytes"))
    withFile(`${url}\n${url}`, (file) => expect(of(file)[0]).toContain("a file with one line"))
    withFile("postgres://punctual:a-password@", (file) =>
      expect(of(file, { TIMER_CLUSTER_SECRET: "0123456789abcdef" }).join()).not.toContain("a-password"),
    )
  })

  test("is not shown if the file belongs to another setting, and the error names the setting and the file", () => {
    const forms = (all: typeof allStores | typeof allBuses) => formsOf(all)
    const keys = ["0123456789abcdef".repeat(4), `/${"Ab1".repeat(14)}=`, "hunter2", "./secrets/x.db"]
    for (const key of keys) {
      withFile(key, (file) => {
        expect(problemsOf({ TIMER_STORE_URL_FILE: file })).toEqual([
          `TIMER_STORE_URL_FILE: the content of ${file} must be ${forms(allStores)}.`,
        ])
        expect(readStore({ TIMER_STORE_URL_FILE: file }, allStores)).toEqual({
          problems: [`TIMER_STORE_URL_FILE: the content of ${file} must be ${forms(allStores)}.`],
        })
        expect(problemsOf({ TIMER_BROKER_URL_FILE: file })).toEqual([
          `TIMER_BROKER_URL_FILE: the content of ${file} must be ${forms(allBuses)}.`,
        ])
      })
    }
    withFile(url, (file) => {
      for (const name of ["TIMER_CLUSTER_SECRET_FILE", "TIMER_SECRET_KEY_FILE"]) {
        const problems = problemsOf({ [name]: file }).join()
        expect(problems).not.toContain("a-password")
        if (name === "TIMER_SECRET_KEY_FILE") {
          expect(problems).toStartWith(`TIMER_SECRET_KEY_FILE: the content of ${file} must be 32 bytes`)
        }
      }
    })
    expect(problemsOf({ TIMER_STORE_URL: keys[0] }).join()).not.toContain(keys[0])
  })

  test("for the store, together with TIMER_DB_PATH, is an error that names what the user set", () => {
    withFile("memory:", (file) =>
      expect(problemsOf({ TIMER_STORE_URL_FILE: file, TIMER_DB_PATH: "x.db" })).toEqual([
        "TIMER_STORE_URL_FILE and TIMER_DB_PATH mean the same: set only one of them.",
      ]),
    )
  })
})
