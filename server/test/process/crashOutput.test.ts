// A service that dies, or that cannot start, writes why. None of its secrets is in what it writes: not in its own last
// line, not in the stack trace of an uncaught error, and not in the report of a runtime that crashes.
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "../../testkit/eventually.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../testkit/PostgresServer.ts"
import { fromSource, type Program, ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

setDefaultTimeout(60_000)

/** Secrets by name. */
type Secrets = Readonly<Record<string, string>>

/** The names of the secrets that a text contains. */
const secretsIn = (text: string, secrets: Secrets): ReadonlyArray<string> =>
  Object.entries(secrets).flatMap(([name, secret]) => {
    if (secret.length < 16) throw new Error(`${name} is too short to be searched for: ${secret}`)
    return text.includes(secret) ? [name] : []
  })

/** Everything that the service has written when it has written this. */
const writtenWith = (service: ServiceProcess, says: RegExp): Promise<string> =>
  eventually(`the service writes ${says}`, () => {
    const text = `${service.output}\n${service.logs.join("\n")}`
    return says.test(text) ? text : undefined
  })

/** The last line of what the runtime writes when it crashes: where to report it. */
const crashReport = /panic[\s\S]*https:\/\/bun\.report\/\S+/

const post = async (
  { url }: ServiceProcess,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
) => {
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  return { json: (await response.json()) as any, headers: response.headers, status: response.status }
}

/** Uses every secret of a service, so that the process has all of them in its memory. Answers those that it made. */
const useSecrets = async (service: ServiceProcess, adminKey: string): Promise<Secrets> => {
  const admin = { authorization: `Bearer ${adminKey}` }
  const app = (await post(service, "keys/create", { label: "app", role: "app" }, admin)).json.apiKey
  const webhook = `whsec_${randomBytes(32).toString("base64")}`
  const put = { namespace: "billing", webhookSecrets: [webhook] }
  expect((await post(service, "namespaces/put", put, admin)).status).toBe(200)
  const begun = await post(service, "sessions/create", { apiKey: app }, {})
  const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? ""
  const same = { cookie, "sec-fetch-site": "same-origin" }
  const timer = { namespace: "billing", timerId: "t", delay: "0s", callbackUrl: "http://127.0.0.1:9/" }
  expect((await post(service, "timers/create", timer, same)).status).toBe(200)
  return {
    admin: adminKey,
    // The id of a key is public: the part after it is the secret.
    app: app.slice(16),
    webhook: webhook.slice("whsec_".length),
    cookie: cookie.split(".").at(-1) ?? "",
  }
}

/** The service, with a signal that makes it fail in a way that nobody foresaw. */
const failingProgram = (folder: string): Program => {
  const preload = join(folder, "preload.ts")
  const body = `
process.on("SIGUSR2", () => setTimeout(() => { throw new Error("nobody foresaw this") }))
process.on("SIGXCPU", () => void Promise.reject(new Error("nobody awaited this")))
`
  writeFileSync(preload, body)
  return { ...fromSource, args: ["--preload", preload, ...fromSource.args] }
}

interface Failure {
  readonly law: string
  fail(service: ServiceProcess, folder: string): void
  /** What the service writes about it. */
  readonly says: RegExp
  /** The exit code, if the service ends by itself. */
  readonly code?: number
}

const failures: ReadonlyArray<Failure> = [
  {
    law: "a fatal failure of its store",
    fail: (_, folder) => rmSync(`${ServiceProcess.databaseIn(folder)}-wal`),
    says: /was removed while the service ran/,
    code: 1,
  },
  {
    law: "an uncaught error",
    fail: (service) => service.signal("SIGUSR2"),
    says: /^punctual: The service ends after an error that no code caught\. .*Error: nobody foresaw this \(at .*\)$/m,
    code: 1,
  },
  {
    law: "a rejection that nobody handles",
    fail: (service) => service.signal("SIGXCPU"),
    says: /^punctual: The service ends after a failure that no code awaited\. .*Error: nobody awaited this \(at .*\)$/m,
    code: 1,
  },
  {
    law: "a crash of the runtime",
    fail: (service) => service.signal("SIGSEGV"),
    says: crashReport,
  },
]

describe("a service that fails shows no secret", () => {
  test.each(failures)("by $law", async ({ fail, says, code }) => {
    using folder = new TemporaryFolder()
    const [adminFile, sealingKey] = [join(folder.path, "admin.key"), randomBytes(32).toString("base64")]
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      program: failingProgram(folder.path),
      settings: { TIMER_ADMIN_KEY_FILE: adminFile, TIMER_SECRET_KEY: sealingKey, TIMER_LOG: "debug" },
    })
    const used = await useSecrets(service, readFileSync(adminFile, "utf8").trim())
    fail(service, folder.path)
    const written = await writtenWith(service, says)
    expect(secretsIn(written, { ...used, sealingKey })).toEqual([])
    if (code !== undefined) expect(await service.exit).toBe(code)
  })

  test("and keeps the timers that it acknowledged", async () => {
    using folder = new TemporaryFolder()
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      program: failingProgram(folder.path),
    })
    const timer = { namespace: "billing", timerId: "t", delay: "1h", callbackUrl: "http://127.0.0.1:9/" }
    expect((await post(service, "timers/create", timer, {})).status).toBe(200)
    service.signal("SIGUSR2")
    expect(await service.exit).toBe(1)
    await service.start()
    const { json } = await post(service, "timers/get", { namespace: "billing", timerId: "t" }, {})
    expect(json.timer).toMatchObject({ timerId: "t", state: "pending" })
  })
})

describePostgres("installed", "a node of a cluster that dies", () => {
  test("shows neither the cluster's secret nor the password of its database", async () => {
    using folder = new TemporaryFolder()
    await using server = await PostgresServer.start("installed")
    const [password, clusterSecret] = [randomBytes(16).toString("hex"), randomBytes(32).toString("hex")]
    const url = new URL(server.database().url)
    url.password = password
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      settings: { TIMER_STORE_URL: url.href, TIMER_CLUSTER_SECRET: clusterSecret, TIMER_LOG: "debug" },
    })
    service.signal("SIGSEGV")
    expect(secretsIn(await writtenWith(service, crashReport), { clusterSecret, password })).toEqual([])
  })
})

describe("a service that cannot start shows no secret", () => {
  test("of settings that are wrong, or of stores and brokers that it cannot reach", async () => {
    using folder = new TemporaryFolder()
    const fileWith = (name: string, text: string): string => {
      const path = join(folder.path, name)
      writeFileSync(path, text)
      return path
    }
    const secret = (): string => randomBytes(16).toString("hex")
    const secrets = { one: secret(), two: secret() }
    const { one, two } = secrets
    const database = { TIMER_DB_PATH: ServiceProcess.databaseIn(folder.path), TIMER_HTTP_PORT: "0" }
    const wrong: ReadonlyArray<Readonly<Record<string, string>>> = [
      {
        TIMER_STORE_URL: `oracle://user:${one}@127.0.0.1/x?password=${two}`,
        TIMER_BROKER_URL: `kafka://user:${one}@127.0.0.1:1`,
        TIMER_SECRET_KEY: `${one}-and-no-base64`,
        TIMER_CLUSTER_SECRET: one,
        TIMER_CLUSTER_SECRET_FILE: fileWith("cluster", two),
        TIMER_TLS_CERT_FILE: fileWith("cert", one),
        TIMER_TLS_KEY_FILE: fileWith("key", `-----BEGIN PRIVATE KEY-----\n${two}\n`),
      },
      { TIMER_STORE_URL: `postgres://user:${one}@127.0.0.1:1/x`, TIMER_CLUSTER_SECRET: two },
      { TIMER_STORE_URL: `postgres://user:${one}@127.0.0.1:port/x` },
      { TIMER_ADMIN_KEY_FILE: fileWith("admin", `${one}\n${two}\n`) },
      { TIMER_CONFIG: fileWith("settings", `TIMER_SECRET_KEY=${one}\nTIMER_SECRET_KEYS=${two}\n`) },
    ]
    for (const settings of wrong) {
      const { code, stdout, stderr } = await ServiceProcess.command(["serve"], { ...database, ...settings })
      const names = Object.keys(settings)
      expect([names, code, stderr.startsWith("punctual: ")]).toEqual([names, 1, true])
      expect([names, secretsIn(stdout + stderr, secrets)]).toEqual([names, []])
    }
  })
})
