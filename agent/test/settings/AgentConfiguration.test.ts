// The settings of the agent: defaults, wrong values, misspelt names and secrets in files.
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { readAgentConfiguration } from "../../src/settings/AgentConfiguration.ts"

const configurationOf = (given: Record<string, string>) => {
  const read = readAgentConfiguration(given)
  if ("problems" in read) throw new Error(read.problems.join("\n"))
  return read
}

const problemsOf = (given: Record<string, string>): ReadonlyArray<string> => {
  const read = readAgentConfiguration(given)
  return "problems" in read ? read.problems : []
}

describe("the settings", () => {
  test("have defaults with which an agent of one machine works", () => {
    const { configuration, effective, warnings } = configurationOf({ PATH: "/bin", TIMER_HTTP_PORT: "1" })
    expect(configuration).toMatchObject({
      httpHost: "127.0.0.1",
      httpPort: 8090,
      store: { kind: "sqlite", file: resolve("data/agent.db") },
      callTimeoutMs: 60_000,
      retentionMs: 30 * 86_400_000,
      openCallsMax: 100_000,
      auth: "auto",
      metricsAccess: "keys",
      guard: { isOnLoopback: true, hosts: [], corsOrigins: [] },
    })
    expect(configuration.egress.isOpen).toBe(true)
    expect(configuration.tls).toBeUndefined()
    expect(warnings).toEqual([])
    expect(effective["AGENT_HTTP_PORT"]).toBe("8090")
  })

  test("let calls reach only public addresses if other machines can reach the agent", () => {
    const { configuration } = configurationOf({ AGENT_HTTP_HOST: "0.0.0.0" })
    expect(configuration.egress.isOpen).toBe(false)
    expect(configuration.egress.allows("10.0.0.1", "10.0.0.1")).toBe(false)
    expect(configuration.guard.isOnLoopback).toBe(false)
  })

  test("are read as an operator writes them", () => {
    const { configuration } = configurationOf({
      AGENT_STORE_URL: "postgres://me:secret@db:5432/agent",
      AGENT_CALL_TIMEOUT: "90s",
      AGENT_RETENTION: "1h30m",
      AGENT_MAX_OPEN_PER_TENANT: "7",
      AGENT_EGRESS: "public,10.0.0.0/8",
      AGENT_AUTH: "required",
      AGENT_SECRET_KEY: "ab".repeat(32),
      AGENT_HTTP_HOSTS: "agent.example.com, agent.local:8090",
      AGENT_CORS_ORIGINS: "https://Tools.example.com",
      AGENT_TRUSTED_PROXIES: "10.0.0.0/8",
    })
    expect(configuration).toMatchObject({
      store: { kind: "postgres", url: "postgres://me:secret@db:5432/agent" },
      callTimeoutMs: 90_000,
      retentionMs: 5_400_000,
      openCallsMax: 7,
      auth: "required",
    })
    expect(configuration.secretKey).toEqual(new Uint8Array(32).fill(0xab))
    expect(configuration.guard.hosts).toHaveLength(2)
    expect(configuration.guard.corsOrigins).toEqual(["https://tools.example.com"])
    expect(configuration.guard.trustedProxies).toBeDefined()
  })

  test("that are wrong are refused, each with a sentence that says what is allowed", () => {
    const cases: ReadonlyArray<readonly [string, string, RegExp]> = [
      ["AGENT_HTTP_PORT", "http", /^AGENT_HTTP_PORT must be a whole number from 0 to 65535; it is "http"\.$/],
      ["AGENT_HTTP_HOST", " ", /^AGENT_HTTP_HOST must be an address/],
      ["AGENT_STORE_URL", "mysql://x", /^AGENT_STORE_URL must be sqlite:<file> or postgres:/],
      ["AGENT_STORE_URL", "sqlite:", /^AGENT_STORE_URL must name a file/],
      ["AGENT_STORE_URL", "postgres://db", /^AGENT_STORE_URL must name a host and a database/],
      [
        "AGENT_STORE_URL",
        "postgres://db/a?sslmode=on",
        /^AGENT_STORE_URL must have an sslmode that is disable/,
      ],
      ["AGENT_STORE_URL", "postgres://db/a?password=x", /must not contain the parameter password[^x]*$/],
      ["AGENT_CALL_TIMEOUT", "10m", /^AGENT_CALL_TIMEOUT must be a duration from 1s to 5m/],
      ["AGENT_RETENTION", "soon", /^AGENT_RETENTION must be a duration/],
      ["AGENT_EGRESS", "publc", /^AGENT_EGRESS: "publc"/],
      ["AGENT_AUTH", "on", /^AGENT_AUTH must be one of auto, required, off/],
      ["AGENT_METRICS", "yes", /^AGENT_METRICS must be one of keys, open/],
      ["AGENT_HTTP_HOSTS", "https://x/", /^AGENT_HTTP_HOSTS must be at most 100 host names/],
      ["AGENT_CORS_ORIGINS", "x", /^AGENT_CORS_ORIGINS must be at most 100 origins/],
      ["AGENT_TRUSTED_PROXIES", "proxy", /^AGENT_TRUSTED_PROXIES: "proxy"/],
      ["AGENT_TLS_CERT_FILE", "/nothing", /^AGENT_TLS_KEY_FILE is missing: AGENT_TLS_CERT_FILE needs it/],
      ["AGENT_HTTP_PROT", "1", /^AGENT_HTTP_PROT is not a setting: did you mean AGENT_HTTP_PORT\?$/],
      ["agent_auth", "off", /^agent_auth is not a setting: did you mean AGENT_AUTH\?$/],
    ]
    for (const [name, text, expected] of cases) {
      const problems = problemsOf({ [name]: text })
      expect([name, problems.length]).toEqual([name, 1])
      expect(problems[0]).toMatch(expected)
    }
    expect(problemsOf({ AGENT_HTTP_PORT: "x", AGENT_AUTH: "x" })).toHaveLength(2)
  })

  test("that nobody knows only cause a warning, because orchestrators inject some", () => {
    const { warnings } = configurationOf({ AGENT_SERVICE_SOMETHING_ELSE: "10.0.0.1" })
    expect(warnings).toEqual([
      "AGENT_SERVICE_SOMETHING_ELSE is not a setting of the agent and has no effect.",
    ])
  })
})

describe("a secret", () => {
  test("is shown in no problem and in no log", () => {
    const { effective } = configurationOf({
      AGENT_STORE_URL: "postgres://me:hunter2@db/agent",
      AGENT_SECRET_KEY: "cd".repeat(32),
    })
    expect(JSON.stringify(effective)).not.toMatch(/hunter2|cdcd/)
    expect(problemsOf({ AGENT_SECRET_KEY: "hunter2" }).join()).not.toContain("hunter2")
  })

  test("may be in a file", () => {
    const folder = mkdtempSync(join(tmpdir(), "agent-settings-"))
    try {
      const file = join(folder, "url")
      writeFileSync(file, "postgres://me:hunter2@db/agent\n")
      expect(configurationOf({ AGENT_STORE_URL_FILE: file }).configuration.store).toEqual({
        kind: "postgres",
        url: "postgres://me:hunter2@db/agent",
      })
      writeFileSync(file, "hunter2")
      const [problem = ""] = problemsOf({ AGENT_STORE_URL_FILE: file })
      expect(problem).toStartWith(`AGENT_STORE_URL_FILE: the content of ${file} must be sqlite:`)
      expect(problem).not.toContain("hunter2")
      expect(problemsOf({ AGENT_STORE_URL_FILE: file, AGENT_STORE_URL: "sqlite:x" })[0]).toContain("only one")
      expect(problemsOf({ AGENT_STORE_URL_FILE: join(folder, "none") })[0]).toContain("ENOENT")
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
