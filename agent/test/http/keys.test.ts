// Who may call the agent: the right key in the right tenant, and nobody else, while keys are in force.
import { expect, test } from "bun:test"
import { agentEndpoints } from "@punctual/api/agent/agentEndpoints"
import { Documents } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Gate } from "@punctual/door/Gate"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import type { Rights } from "@punctual/door/Rights"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Exit, Layer, Scope } from "effect"
import { AgentServer } from "../../testkit/AgentServer.ts"
import { CallEventReader } from "../../testkit/CallEventReader.ts"
import { MemoryServiceCalls } from "../../testkit/MemoryServiceCalls.ts"

const full: Rights = { actions: ["*"], namespaces: ["*"] }
const request = { method: "POST", url: "http://b.test/?q=1", body: "secret-body" }

const withKeys = async (use: (world: World) => Promise<void>): Promise<void> => {
  const scope = await Effect.runPromise(Scope.make())
  const documents = Layer.succeed(Documents, documentsIn(new MemoryDocuments()))
  const services = await Effect.runPromise(
    Layer.buildWithScope(KeyDirectory.layer().pipe(Layer.provide(documents)), scope),
  )
  const keys = await Effect.runPromise(Effect.provide(KeyDirectory, services))
  const key = async (rights: Rights): Promise<string> => {
    const made = await Effect.runPromise(
      keys.create({ ...rights, label: "test", madeBy: "a test" }, Date.now()),
    )
    return made.text
  }
  const admin = await key(full)
  const memory = new MemoryServiceCalls(() => Date.now())
  const gate = new Gate({ keys, mode: "auto", nowMs: () => Date.now() })
  const agent = await AgentServer.start(memory.service, { keys: { keys, gate } })
  try {
    await use({ agent, admin, key, keys, memory })
  } finally {
    await agent[Symbol.asyncDispose]()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

interface World {
  readonly agent: AgentServer
  readonly admin: string
  readonly key: (rights: Rights) => Promise<string>
  readonly keys: KeyDirectory["Service"]
  readonly memory: MemoryServiceCalls
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

test("every endpoint refuses callers without a key, with a wrong one, of another tenant, or without the action", () =>
  withKeys(async ({ agent, admin, key, memory }) => {
    const submit = "/api/v1/tenants/billing/service-calls"
    await agent.send("POST", submit, { request, serviceCallId: "c", delay: "1h" }, bearer(admin))
    const ofOther = await key({ actions: ["*"], namespaces: ["other"] })
    const reader = await key({ actions: ["calls.read"], namespaces: ["billing"] })
    const writer = await key({ actions: ["calls.write"], namespaces: ["billing"] })
    const before = memory.submitted
    const routes = [
      ...agentEndpoints()
        .filter(({ action }) => action !== "none")
        .map(({ method, path, action }) => ({ method, path, action })),
      { method: "GET", path: "/api/v1/tenants/:tenantId/events", action: "calls.read" },
    ]
    for (const { method, path, action } of routes) {
      const url = path.replace(":tenantId", "billing").replace(":serviceCallId", "c")
      const body = method === "GET" ? undefined : { request }
      const statusWith = async (headers: Record<string, string>) =>
        (await agent.send(method, url, body, headers)).status
      const lacking = action === "calls.read" ? writer : reader
      const isOfTenant = path.includes(":tenantId")
      expect([method, path, await statusWith({})]).toEqual([method, path, 401])
      expect([method, path, await statusWith(bearer("pnct_nothing"))]).toEqual([method, path, 401])
      // The list of tenants has no tenant: it shows each caller its own ones.
      expect([method, path, await statusWith(bearer(ofOther))]).toEqual([
        method,
        path,
        isOfTenant ? 403 : 200,
      ])
      expect([method, path, await statusWith(bearer(lacking))]).toEqual([method, path, 403])
    }
    expect(memory.submitted).toBe(before)
    expect((await agent.send("GET", submit, undefined, bearer(reader))).status).toBe(200)
    expect((await agent.send("GET", "/metrics")).status).toBe(401)
    expect((await agent.send("GET", "/openapi.json")).status).toBe(200)
  }))

test("a list of tenants shows those of the key only, and so do its cursors", () =>
  withKeys(async ({ agent, admin, key }) => {
    for (const tenant of ["billing", "shop", "team-a", "team-b", "team-c", "zoo"])
      await agent.send("POST", `/api/v1/tenants/${tenant}/service-calls`, { request }, bearer(admin))
    const namesFor = async (namespaces: ReadonlyArray<string>, query = "") => {
      const text = await key({ actions: ["calls.read"], namespaces })
      const { body } = await agent.send("GET", `/api/v1/tenants${query}`, undefined, bearer(text))
      const names = body.tenants.map(({ tenantId }: { tenantId: string }) => tenantId).join(" ")
      return body.nextCursor === undefined ? names : `${names} after ${body.nextCursor}`
    }
    expect(await namesFor(["*"])).toBe("billing shop team-a team-b team-c zoo")
    expect(await namesFor(["zoo", "team-*", "team-b", "absent", "billing"])).toBe(
      "billing team-a team-b team-c zoo",
    )
    expect(await namesFor(["shop", "zoo"], "?limit=1")).toBe("shop after shop")
    expect(await namesFor(["shop", "zoo"], "?limit=1&cursor=shop")).toBe("zoo")
    expect(await namesFor(["team-*", "zoo"], "?limit=2&cursor=team-a")).toBe("team-b team-c after team-c")
    expect(await namesFor(["absent"])).toBe("")
  }))

test("a key that may submit calls cannot change what the tenant hides", () =>
  withKeys(async ({ agent, key }) => {
    const settings = "/api/v1/tenants/billing/settings"
    const app = await key({ actions: ["calls.read", "calls.write", "payload.read"], namespaces: ["billing"] })
    const owner = await key({ actions: ["namespaces.write"], namespaces: ["billing"] })
    const put = (text: string) => agent.send("PUT", settings, { hiddenHeaders: ["x-a"] }, bearer(text))
    const refused = await put(app)
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining("namespaces.write")])
    expect((await put(owner)).status).toBe(200)
    expect((await agent.send("GET", settings, undefined, bearer(app))).status).toBe(200)
  }))

test("a key without payload.read sees no headers, bodies and queries", () =>
  withKeys(async ({ agent, admin, key, memory }) => {
    const calls = "/api/v1/tenants/billing/service-calls"
    await agent.send("POST", calls, { request, serviceCallId: "c" }, bearer(admin))
    const response = { status: 200, headers: { a: "secret-header" }, bodySnippet: "secret", latencyMs: 1 }
    memory.change("billing", "c", { state: "Succeeded", response })
    const reader = await key({ actions: ["calls.read"], namespaces: ["*"] })
    const hidden = (await agent.send("GET", `${calls}/c`, undefined, bearer(reader))).body
    expect(hidden).toMatchObject({ hidden: true, request: { method: "POST", url: "http://b.test/" } })
    expect(JSON.stringify(hidden)).not.toContain("secret")
    const shown = (await agent.send("GET", `${calls}/c`, undefined, bearer(admin))).body
    expect(shown.hidden).toBeUndefined()
    expect(shown.request.body).toBe("secret-body")
  }))

test("a session lets the pages call, and a stream ends with its key", () =>
  withKeys(async ({ agent, key, keys, memory }) => {
    const reader = await key({ actions: ["calls.read"], namespaces: ["billing"] })
    const begun = await agent.send("POST", "/api/v1/sessions/create", { apiKey: reader })
    expect(begun.status).toBe(200)
    const cookie = (begun.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
    const ofPage = { cookie, "sec-fetch-site": "same-origin" }
    expect((await agent.send("POST", "/api/v1/keys/self", {}, ofPage)).body).toMatchObject({
      keysRequired: true,
      namespaces: ["billing"],
    })
    expect((await agent.send("POST", "/api/v1/sessions/create", { apiKey: "wrong" })).status).toBe(401)
    using events = await CallEventReader.open(`${agent.url}/api/v1/tenants/billing/events`, ofPage)
    expect(events.status).toBe(200)
    await eventually("the stream listens", () => (memory.listeners("billing") === 1 ? true : undefined))
    const { keyId } = (await agent.send("POST", "/api/v1/keys/self", {}, ofPage)).body
    await Effect.runPromise(keys.revoke(keyId, Date.now()))
    await eventually("the stream has ended", () => (events.isEnded ? true : undefined))
    await eventually("nobody listens", () => (memory.listeners("billing") === 0 ? true : undefined))
  }))
