// The door of the real program: keys that are required, TLS whose certificate changes, sessions, a trusted proxy.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Punctual, type Transport } from "@punctual/client"
import { admin, type KeyAction } from "@punctual/client/admin"
import { makeCertificates } from "@punctual/server/testkit/Certificates"
import { eventually } from "@punctual/server/testkit/eventually"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { AgentProcess } from "../../testkit/AgentProcess.ts"

setDefaultTimeout(120_000)

const adminKey = "ab".repeat(32)
const calls = (tenant: string) => `/api/v1/tenants/${tenant}/service-calls`
const later = { request: { method: "GET", url: "http://127.0.0.1:9/" }, delay: "1h" }

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers by paths that they check themselves.
  readonly body: any
}

const folder = new TemporaryFolder()
let agent: AgentProcess
let trusted = ""

const send = async (
  method: string,
  path: string,
  { key, body, headers = {} }: { key?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> => {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    tls: { ca: readFileSync(trusted, "utf8") },
    keepalive: false,
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get("content-type") ?? "")
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

/** The keys of the Timer, whose store has all keys. */
const keys = () => {
  const url = /Punctual .*listens on (\S+)/.exec(agent.stdout)?.[1]
  const tls = { ca: readFileSync(trusted, "utf8") }
  const transport: Transport = (place, request) => fetch(place, { ...request, tls, keepalive: false })
  return admin(new Punctual({ url, key: adminKey, transport })).keys
}

const keyFor = (actions: ReadonlyArray<KeyAction>, namespaces: ReadonlyArray<string>) =>
  keys().create({ label: "a test", actions, namespaces })

/** The agent learns of a new key within half a second. */
const known = (key: string, path: string) =>
  eventually("the agent knows the key", async () =>
    (await send("GET", path, { key })).status === 200 ? true : undefined,
  )

/** As an orchestrator mounts a secret: the files are links into a folder, which is a link itself. */
const useCertificate = (name: string): void => {
  symlinkSync(join(folder.path, name), join(folder.path, "..next"))
  renameSync(join(folder.path, "..next"), join(folder.path, "..data"))
}

beforeAll(async () => {
  for (const name of ["one", "other"]) {
    mkdirSync(join(folder.path, name))
    makeCertificates(join(folder.path, name))
  }
  useCertificate("one")
  trusted = join(folder.path, "one", "ca.pem")
  const adminFile = join(folder.path, "admin.key")
  writeFileSync(adminFile, adminKey, { mode: 0o600 })
  agent = await AgentProcess.open({
    folder: folder.path,
    settings: {
      AGENT_AUTH: "required",
      AGENT_TLS_CERT_FILE: join(folder.path, "..data", "server.pem"),
      AGENT_TLS_KEY_FILE: join(folder.path, "..data", "server.key"),
      AGENT_TRUSTED_PROXIES: "127.0.0.1",
      AGENT_HTTP_HOSTS: "agent.example.com",
      TIMER_ADMIN_KEY_FILE: adminFile,
    },
  })
})

afterAll(async () => {
  await agent[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

describe("an agent that requires keys and serves https", () => {
  test("says that it needs a key, at its start and to a caller without one", async () => {
    expect(agent.url).toStartWith("https://127.0.0.1:")
    expect(agent.stdout).toContain("Calls need a key")
    const none = await send("GET", calls("shop"))
    expect([none.status, none.body.code, none.headers.get("www-authenticate")]).toEqual([
      401,
      "unauthorized",
      expect.stringContaining("Bearer"),
    ])
    expect(none.body.detail).toContain("Authorization")
    expect((await send("GET", calls("shop"), { key: "pnct_wrong" })).status).toBe(401)
    expect((await send("GET", "/metrics")).status).toBe(401)
    for (const path of ["/health/live", "/health/ready", "/openapi.json", "/docs/api"])
      expect([path, (await send("GET", path)).status]).toEqual([path, 200])
    const plain = await fetch(agent.url.replace("https:", "http:")).catch(() => undefined)
    expect(plain?.ok ?? false).toBe(false)
  })

  test("lets a key do its actions in its tenants, names the missing one, and forgets a revoked key", async () => {
    const reader = await keyFor(["calls.read"], ["shop"])
    const writer = await keyFor(["calls.write"], ["shop"])
    await known(reader.apiKey, calls("shop"))
    const made = await eventually("the agent knows the writer", async () => {
      const answer = await send("POST", calls("shop"), { key: writer.apiKey, body: later })
      return answer.status === 202 ? answer : undefined
    })
    const id = made.body.call.serviceCallId
    const listed = await send("GET", calls("shop"), { key: reader.apiKey })
    expect(listed.body.calls).toHaveLength(1)
    const refused: ReadonlyArray<readonly [string, string, string, string]> = [
      ["POST", calls("shop"), reader.apiKey, "calls.write"],
      ["POST", `${calls("shop")}/${id}/cancel`, reader.apiKey, "calls.write"],
      ["GET", calls("shop"), writer.apiKey, "calls.read"],
      ["GET", calls("billing"), reader.apiKey, "calls.read"],
      ["PUT", "/api/v1/tenants/shop/settings", writer.apiKey, "namespaces.write"],
    ]
    for (const [method, path, key, action] of refused) {
      const answer = await send(method, path, { key, ...(method === "GET" ? {} : { body: {} }) })
      expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 403, "forbidden"])
      expect(answer.body.detail).toContain(action)
    }
    const tenants = await send("GET", "/api/v1/tenants", { key: reader.apiKey })
    expect(tenants.body).toEqual({ tenants: [{ tenantId: "shop" }] })
    await keys().revoke({ id: reader.key.id })
    await eventually("the key has ended", async () =>
      (await send("GET", calls("shop"), { key: reader.apiKey })).status === 401 ? true : undefined,
    )
  })

  test("gives pages a session, for its own pages only, and a proxy's port and name count", async () => {
    const { apiKey } = await keyFor(["calls.read"], ["shop"])
    await known(apiKey, calls("shop"))
    const body = { apiKey }
    const begun = await send("POST", "/api/v1/sessions/create", { body })
    const cookie = begun.headers.get("set-cookie") ?? ""
    expect([begun.status, /; ?Secure/i.test(cookie), /; ?HttpOnly/i.test(cookie)]).toEqual([200, true, true])
    expect(cookie).toContain(new URL(agent.url).port)
    const [pair = ""] = cookie.split(";")
    const asPage = (site: string) => ({ headers: { cookie: pair, "sec-fetch-site": site } })
    expect((await send("GET", calls("shop"), asPage("same-origin"))).status).toBe(200)
    expect((await send("GET", calls("shop"), asPage("cross-site"))).status).toBe(403)
    const forwarded = { "x-forwarded-host": "agent.example.com:8443", "x-forwarded-proto": "https" }
    const behind = await send("POST", "/api/v1/sessions/create", { body, headers: forwarded })
    expect([behind.status, behind.headers.get("set-cookie")]).toEqual([200, expect.stringContaining("8443")])
    const foreign = { host: "evil.example.com" }
    const refused = await send("POST", "/api/v1/sessions/create", { body, headers: foreign })
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining("AGENT_HTTP_HOSTS")])
    const ended = await send("POST", "/api/v1/sessions/end", { body: {}, ...asPage("same-origin") })
    expect([ended.status, ended.headers.get("set-cookie")]).toEqual([
      200,
      expect.stringMatching(/Max-Age=0/i),
    ])
  })

  test("uses a new certificate without a restart", async () => {
    useCertificate("other")
    const next = join(folder.path, "other", "ca.pem")
    await eventually(
      "the new certificate is in use",
      async () => {
        trusted = next
        const answer = await send("GET", "/health/live").catch(() => undefined)
        return answer?.status === 200 ? true : undefined
      },
      90_000,
    )
  })
})
