// The routes accept and refuse the same bodies as the server that Effect generates from the same definition. The test
// sends a corpus of bodies to every call, and random mutations of them.
import "effect/schema/SchemaJITCompiler/enable"
import { describe, expect, test } from "bun:test"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import { nextTurn } from "@punctual/api/nextTurn"
import { makePunctualApi } from "@punctual/api/PunctualApi"
import { makePlainCreate } from "@punctual/api/plainCreate"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { defaultBodyOptions, RequestBodies } from "@punctual/http/RequestBody"
import { httpRequestOf } from "@punctual/http/testkit/httpRequestOf"
import { Effect, Exit, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import fc from "fast-check"
import type { QuickForm } from "../../src/calls/Call.ts"
import { makeApiRoutes } from "../../src/http/ApiRoutes.ts"
import { type CallText, callTexts } from "../../src/http/CallText.ts"
import { WallClock } from "../../src/ports/WallClock.ts"

const calls = [
  "create",
  "createMany",
  "get",
  "update",
  "delete",
  "deleteMany",
  "list",
  "count",
  "histogram",
  "lives",
  "activity",
  "replay",
  "discard",
  "cluster",
  "advance",
  "namespaces.put",
  "namespaces.get",
  "namespaces.list",
  "service.get",
  "service.pause",
  "service.resume",
  "breakers.list",
  "breakers.reset",
  "egress.check",
  "audit.list",
] as const
type Call = (typeof calls)[number]
type Send = (call: Call, body: string) => Promise<number>

const folders: Readonly<Record<string, string>> = { cluster: "", advance: "clock/" }

const pathOf = (call: Call): string =>
  call.includes(".") ? `/api/v1/${call.replace(".", "/")}` : `/api/v1/${folders[call] ?? "timers/"}${call}`

const requestOf = (call: Call, body: string): Request =>
  new Request(`http://localhost${pathOf(call)}`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) },
    body,
  })

const ourRequestOf = (call: Call, body: string): HttpRequest =>
  httpRequestOf({
    method: "POST",
    target: pathOf(call),
    headers: { "content-type": "application/json" },
    body,
  })

/** Payloads are read as in the service. Answers contain nothing that could be written as text. */
const texts = () => {
  const byGroup: Record<string, Record<string, CallText<never>>> = {}
  const real: typeof byGroup = { timers: { ...callTexts.timers } }
  for (const { group, name } of contractEndpoints(defaultLimits)) {
    byGroup[group] = { ...byGroup[group], [name]: { ...real[group]?.[name], write: () => "{}" } }
  }
  return byGroup
}

/** Our routes, with calls that accept every body that reaches them. Calls with one of these names never end. */
const sendToRoutes = async (endless: ReadonlyArray<string> = []): Promise<Send> => {
  const routes = await Effect.runPromise(
    makeApiRoutes({
      limits: defaultLimits,
      callOf: ({ group, name }) => {
        const call = () => (endless.includes(name) ? Effect.never : Effect.void)
        return group === "timers" && name === "create" ? Object.assign(call, { quick }) : call
      },
      texts: texts(),
      bodies: new RequestBodies(defaultBodyOptions),
      answerTimeoutMs: 60_000,
      callsMax: 10,
      whyClosed: () => undefined,
    }).pipe(Effect.provide(WallClock.system)),
  )
  return async (call, body) => {
    const route = routes.get(pathOf(call))
    if (route === undefined) throw new Error(`no route for ${call}`)
    return (await route.handle(ourRequestOf(call, body))).status
  }
}

/** Plain creates are decoded by hand. The other calls are decoded by their schemas. */
const quick: QuickForm<unknown> = {
  read: makePlainCreate(defaultLimits),
  begin: (_, onAnswer) => {
    onAnswer(Exit.void)
    return true
  },
}

const acceptedStatus = 599

/** The generated server. Its handlers have nothing to answer with, and end in a status of their own. */
const generatedServer = (): { readonly send: Send; readonly dispose: () => Promise<void> } => {
  const api = makePunctualApi(defaultLimits)
  const accept = () => Effect.succeed(undefined as never)
  const group = HttpApiBuilder.group(api, "timers", (handlers) =>
    handlers.handleAll({
      create: accept,
      createMany: accept,
      get: accept,
      update: accept,
      delete: accept,
      deleteMany: accept,
      list: accept,
      count: accept,
      histogram: accept,
      lives: accept,
      activity: accept,
      replay: accept,
      discard: accept,
    }),
  )
  const clusterGroup = HttpApiBuilder.group(api, "cluster", (handlers) => handlers.handle("cluster", accept))
  const clockGroup = HttpApiBuilder.group(api, "clock", (handlers) => handlers.handle("advance", accept))
  const namespacesGroup = HttpApiBuilder.group(api, "namespaces", (handlers) =>
    handlers.handleAll({ put: accept, get: accept, list: accept }),
  )
  const serviceGroup = HttpApiBuilder.group(api, "service", (handlers) =>
    handlers.handleAll({ get: accept, pause: accept, resume: accept }),
  )
  const breakersGroup = HttpApiBuilder.group(api, "breakers", (handlers) =>
    handlers.handleAll({ list: accept, reset: accept }),
  )
  const egressGroup = HttpApiBuilder.group(api, "egress", (handlers) => handlers.handle("check", accept))
  const auditGroup = HttpApiBuilder.group(api, "audit", (handlers) => handlers.handle("list", accept))
  const messagesGroup = HttpApiBuilder.group(api, "messages", (handlers) =>
    handlers.handleAll({ list: accept, get: accept, replay: accept, discard: accept }),
  )
  const keysGroup = HttpApiBuilder.group(api, "keys", (handlers) =>
    handlers.handleAll({
      create: accept,
      rotate: accept,
      revoke: accept,
      revokeLeaked: accept,
      confirm: accept,
      get: accept,
      list: accept,
      self: accept,
    }),
  )
  const bulkGroup = HttpApiBuilder.group(api, "bulk", (handlers) =>
    handlers.handleAll({ start: accept, get: accept, list: accept, abort: accept }),
  )
  const sessionsGroup = HttpApiBuilder.group(api, "sessions", (handlers) =>
    handlers.handleAll({ create: accept, end: accept }),
  )
  const { handler, dispose } = HttpRouter.toWebHandler(
    HttpApiBuilder.layer(api).pipe(
      Layer.provide([
        group,
        bulkGroup,
        clusterGroup,
        clockGroup,
        namespacesGroup,
        serviceGroup,
        breakersGroup,
        egressGroup,
        messagesGroup,
        keysGroup,
        sessionsGroup,
        auditGroup,
      ]),
      Layer.provide(HttpServer.layerServices),
    ),
    { disableLogger: true },
  )
  // A handler that was reached answers with nothing. No success schema encodes that, so the status is 500.
  const send: Send = async (call, body) => {
    const { status } = await handler(requestOf(call, body))
    return status === 500 ? acceptedStatus : status
  }
  return { send, dispose }
}

const key = { namespace: "n", timerId: "t" }
const create = { ...key, executeAt: "2031-01-01T00:00:00.000Z", callbackUrl: "http://localhost/hook" }
const target = {
  type: "webhook",
  url: "https://h/",
  headers: { a: "b" },
  timeout: "3s",
  method: "PUT",
  body: "payload",
}
const retryPolicy = {
  maxAttempts: 3,
  initialInterval: "1s",
  maxInterval: "1m",
  jitter: 0.5,
  backoffMultiplier: 2,
}

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`

const span = { from: "2030-01-01T00:00:00Z", until: "2030-02-01T00:00:00Z" }

const corpus: Record<Call, ReadonlyArray<unknown>> = {
  advance: [
    { by: "31d" },
    { by: "0s", maxFirings: 1 },
    { to: "2031-01-01T00:00:00Z", maxFirings: 1_000_000 },
    { by: "1s", to: "2031-01-01T00:00:00Z" },
    { by: "1s", maxFirings: 0 },
  ],
  create: [
    create,
    { ...create, payload: null, retryPolicy, expireAfter: "1h", correlationId: "c", onExisting: "keep" },
    { namespace: "n", delay: "PT1H", target },
    { namespace: "n", delay: "0s", target: { type: "event" } },
  ],
  createMany: [{ timers: [create, 7, null] }, { timers: [] }, { timers: Array(1_001).fill(create) }],
  get: [key],
  update: [
    { ...key, delay: "1h" },
    { ...key, payload: null, expireAfter: null, retryPolicy: null, ifRevision: 3 },
    key,
  ],
  delete: [key, { ...key, ifRevision: 1 }],
  deleteMany: [
    { namespace: "n", all: true },
    { namespace: "n", filter: { idPrefix: "a" } },
    { namespace: "n", filter: {} },
  ],
  list: [{ namespace: "n", state: "dead", limit: 1_000, order: "asc", include: ["payload"], cursor: "x" }],
  replay: [
    { namespace: "n", all: true, dryRun: true },
    { namespace: "n", filter: { idPrefix: "a", until: "2031-01-01T00:00:00Z" } },
    { ...key, all: true },
    key,
  ],
  discard: [key, { namespace: "n", filter: {} }, { namespace: "n", all: true, dryRun: false }],
  cluster: [{}],
  "namespaces.put": [
    {
      namespace: "n",
      webhookSecrets: [secret, secret],
      retryPolicy,
      maxInFlight: 1,
      maxPending: 0,
      createsPerSecond: 1,
      paused: true,
    },
    {
      namespace: "n",
      webhookSecrets: null,
      retryPolicy: null,
      maxInFlight: null,
      maxPending: null,
      createsPerSecond: null,
      paused: null,
    },
    { namespace: "n" },
    { namespace: "n", webhookSecrets: [] },
    { namespace: "n", webhookSecrets: [secret, secret, secret] },
    { namespace: "n", webhookSecrets: ["whsec_short"] },
    { namespace: "n", maxInFlight: 0 },
    { namespace: "n", maxPending: 1.5 },
  ],
  "namespaces.get": [{ namespace: "n" }],
  "namespaces.list": [{}, { cursor: "x", limit: 100 }, { limit: 101 }],
  "service.get": [{}],
  "service.pause": [{}, { reason: "x" }, { reason: "" }],
  "service.resume": [{}, { fireOverdue: true }, { fireOverdue: false }],
  "breakers.list": [{}],
  "breakers.reset": [{ host: "h:80" }, { host: "" }],
  "audit.list": [
    {},
    { since: "2030-01-01T00:00:00Z", until: "2030-02-01T00:00:00Z", action: "namespaces.put", key: "ops" },
    { action: "namespaces", limit: 1 },
    { action: "Namespaces.put" },
    { action: "a.b.c" },
    { key: "" },
    { limit: 0 },
    { since: 1 },
  ],
  "egress.check": [{ url: "http://h/" }, { url: "ftp://h/" }, { url: "" }],
  histogram: [
    { filter: { namespace: "n", ...span }, buckets: 500 },
    { filter: { namespaces: ["*"], states: ["pending", "dead"], tag: "t", ...span }, buckets: 1 },
    { filter: { namespace: "n" }, buckets: 1 },
    { filter: { namespaces: ["*"], state: "delivered", ...span }, buckets: 1 },
    { filter: { namespace: "n", ...span }, buckets: 501 },
    { filter: { namespace: "n", ...span }, buckets: 0 },
  ],
  lives: [key, { ...key, limit: 1_000, cursor: "x" }, { ...key, limit: 1_001 }],
  activity: [
    { from: "2030-01-01T00:00:00Z", until: "2030-01-02T00:00:00Z", step: "1h" },
    {
      from: "2030-01-01T00:00:00Z",
      until: "2030-01-02T00:00:00Z",
      step: "5m",
      by: "host",
      namespaces: ["n"],
    },
    { from: "2030-01-01T00:00:00Z", until: "2030-01-02T00:00:00Z", step: "1m", by: "host" },
    { from: "2030-01-01T00:00:00Z", until: "2030-01-01T00:00:00Z", step: "1h" },
    { from: "2030-01-01T00:00:00Z", until: "2031-01-02T00:00:00Z", step: "1h" },
    { from: "2030-01-01T00:00:00Z", until: "2030-01-02T00:00:00Z", step: "90s" },
  ],
  count: [
    { namespace: "n", from: "2030-01-01T00:00:00Z", until: "2031-01-01T00:00:00+01:00", correlationId: "c" },
  ],
}

const oddValues: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1,
  1.5,
  1e30,
  "",
  "x",
  "_x",
  "1h",
  "P1M",
  "2031-01-01T00:00:00",
  "10000-01-01T00:00:00Z",
  "a\u0000",
  "\ud800",
  "x".repeat(300),
  "http://u:p@h/",
  [],
  {},
  [[]],
  { type: "webhook" },
  { type: "event", x: 1 },
  ["payload"],
  { idPrefix: "" },
  { maxAttempts: 0 },
  { maxAttempts: 101 },
  { initialInterval: "1h", maxInterval: "1s" },
]
const fieldNames = [
  "namespace",
  "timerId",
  "executeAt",
  "delay",
  "callbackUrl",
  "target",
  "payload",
  "retryPolicy",
  "expireAfter",
  "correlationId",
  "onExisting",
  "timers",
  "ifRevision",
  "filter",
  "all",
  "state",
  "from",
  "until",
  "idPrefix",
  "order",
  "include",
  "cursor",
  "limit",
  "unknown",
  "__proto__",
  "constructor",
]

type Mutation = { readonly field: string; readonly value: unknown; readonly removes: boolean }

const mutated = (body: unknown, mutations: ReadonlyArray<Mutation>): string => {
  const members = new Map(Object.entries(body as object))
  for (const { field, value, removes } of mutations) {
    if (removes) members.delete(field)
    else members.set(field, value)
  }
  // Written by hand, because an assignment to __proto__ would not make a member.
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`
}

describe("the generated server and our routes agree", () => {
  const bothAnswer = async (routes: Send, generated: Send, call: Call, body: string) => {
    const [ours, theirs] = await Promise.all([routes(call, body), generated(call, body)])
    const isAccepted = { ours: ours === 200, theirs: theirs === acceptedStatus }
    expect({ call, body: body.slice(0, 500), ours: isAccepted.ours }).toEqual({
      call,
      body: body.slice(0, 500),
      ours: isAccepted.theirs,
    })
    if (!isAccepted.ours) expect([ours, theirs]).toEqual([400, 400])
    return isAccepted.ours
  }

  test("on a corpus of bodies, each sent to every call", async () => {
    const routes = await sendToRoutes()
    const { send, dispose } = generatedServer()
    const verdicts = new Set<boolean>()
    for (const call of calls) {
      for (const body of Object.values(corpus).flat()) {
        verdicts.add(await bothAnswer(routes, send, call, JSON.stringify(body)))
      }
      for (const text of ["", "nonsense", "null", "[]", '"text"']) await bothAnswer(routes, send, call, text)
    }
    expect(verdicts).toEqual(new Set([true, false]))
    await dispose()
  })

  test("on random mutations of the corpus", async () => {
    const routes = await sendToRoutes()
    const { send, dispose } = generatedServer()
    const mutation = fc.record({
      field: fc.constantFrom(...fieldNames),
      value: fc.constantFrom(...oddValues),
      removes: fc.boolean(),
    })
    const body = fc
      .constantFrom(...calls)
      .chain((call) =>
        fc.tuple(
          fc.constant(call),
          fc.constantFrom(...corpus[call]),
          fc.array(mutation, { minLength: 1, maxLength: 3 }),
        ),
      )
    await fc.assert(
      fc.asyncProperty(body, async ([call, valid, mutations]) => {
        await bothAnswer(routes, send, call, mutated(valid, mutations))
      }),
      { numRuns: 500 },
    )
    await dispose()
  })
})

test("lists that wait for their turn leave room for other calls", async () => {
  const send = await sendToRoutes(["list"])
  for (let calls = 0; calls < 30; calls++) void send("list", JSON.stringify({ namespace: "n" }))
  // The lists that find no place are answered in this turn.
  await nextTurn()
  expect(await send("get", JSON.stringify(key))).toBe(200)
})
