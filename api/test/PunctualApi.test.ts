import { describe, expect, test } from "bun:test"
import { Effect, Layer, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { HttpApiClient, OpenApi } from "effect/http-api"
import { AdvanceClock } from "../src/AdvanceClock.ts"
import { AbortBulk, GetBulk, makeListBulk, StartBulk } from "../src/BulkJobs.ts"
import { makeCheckEgress } from "../src/CheckEgress.ts"
import { GetCluster } from "../src/Cluster.ts"
import { makeCreateManyTimers } from "../src/CreateManyTimers.ts"
import { makeCreateTimer } from "../src/CreateTimer.ts"
import { DeleteManyTimers } from "../src/DeleteManyTimers.ts"
import { DeleteTimer } from "../src/DeleteTimer.ts"
import { GetTimer } from "../src/GetTimer.ts"
import {
  ConfirmKeys,
  CreateKey,
  CreateSession,
  EndSession,
  GetKey,
  GetSelf,
  makeListKeys,
  RevokeKey,
  RevokeLeakedKey,
  RotateKey,
} from "../src/Keys.ts"
import { defaultLimits } from "../src/Limits.ts"
import { makeListAudit } from "../src/ListAudit.ts"
import { makeListLives } from "../src/ListLives.ts"
import { CountTimers, makeListTimers } from "../src/ListTimers.ts"
import { DiscardMessage, GetMessage, makeListMessages, ReplayMessage } from "../src/Messages.ts"
import { Namespace } from "../src/Namespace.ts"
import { GetNamespace, makeListNamespaces, makePutNamespace } from "../src/NamespaceSettings.ts"
import { problemCodes, TimerNotFound, toProblemDocument } from "../src/Problem.ts"
import { makePunctualApi, PunctualApi } from "../src/PunctualApi.ts"
import { DiscardTimers, ReplayTimers } from "../src/ReplayTimers.ts"
import { defaultRetryPolicy } from "../src/RetryPolicy.ts"
import { GetService, ListBreakers, PauseService, ResetBreakers, ResumeService } from "../src/Service.ts"
import { TimerSchema } from "../src/Timer.ts"
import { GetActivity } from "../src/TimerActivity.ts"
import { eventStreamPath } from "../src/TimerEvents.ts"
import { TimerHistogram } from "../src/TimerHistogram.ts"
import { TimerId } from "../src/TimerId.ts"
import { makeUpdateTimer } from "../src/UpdateTimer.ts"
import { refusalsOf } from "./refusals.ts"

const document = OpenApi.fromApi(PunctualApi)
const requests = {
  create: makeCreateTimer(defaultLimits),
  createMany: makeCreateManyTimers(defaultLimits),
  get: GetTimer,
  update: makeUpdateTimer(defaultLimits),
  delete: DeleteTimer,
  deleteMany: DeleteManyTimers,
  list: makeListTimers(defaultLimits),
  count: CountTimers,
  histogram: TimerHistogram,
  lives: makeListLives(defaultLimits),
  activity: GetActivity,
  replay: ReplayTimers,
  discard: DiscardTimers,
  "bulk.start": StartBulk,
  "bulk.get": GetBulk,
  "bulk.list": makeListBulk(defaultLimits),
  "bulk.abort": AbortBulk,
  cluster: GetCluster,
  advance: AdvanceClock,
  "namespaces.put": makePutNamespace(defaultLimits),
  "namespaces.get": GetNamespace,
  "namespaces.list": makeListNamespaces(defaultLimits),
  "service.get": GetService,
  "service.pause": PauseService,
  "service.resume": ResumeService,
  "breakers.list": ListBreakers,
  "breakers.reset": ResetBreakers,
  "egress.check": makeCheckEgress(defaultLimits),
  "messages.list": makeListMessages(defaultLimits),
  "messages.get": GetMessage,
  "messages.replay": ReplayMessage,
  "messages.discard": DiscardMessage,
  "keys.create": CreateKey,
  "keys.rotate": RotateKey,
  "keys.revoke": RevokeKey,
  "keys.revokeLeaked": RevokeLeakedKey,
  "keys.confirm": ConfirmKeys,
  "keys.get": GetKey,
  "keys.list": makeListKeys(defaultLimits),
  "keys.self": GetSelf,
  "sessions.create": CreateSession,
  "sessions.end": EndSession,
  "audit.list": makeListAudit(defaultLimits),
}
const names = Object.keys(requests) as Array<keyof typeof requests>

const folders: Readonly<Record<string, string>> = { cluster: "", advance: "clock/" }

const pathOf = (name: string): `/${string}` =>
  name.includes(".") ? `/api/v1/${name.replace(".", "/")}` : `/api/v1/${folders[name] ?? "timers/"}${name}`

const operationOf = (name: string) => {
  const operation = document.paths[pathOf(name)]?.post
  if (operation === undefined) throw new Error(`no operation ${name}`)
  return operation
}

/** Visits every `$ref` and every object, anywhere in a part of the document. */
const walk = (value: unknown, visit: (node: Record<string, unknown>) => void): void => {
  if (typeof value !== "object" || value === null) return
  if (!Array.isArray(value)) visit(value as Record<string, unknown>)
  for (const inner of Object.values(value)) walk(inner, visit)
}

describe("the OpenAPI document", () => {
  test("is version 3.1 with exactly these calls, each a POST with a JSON body, and the stream", () => {
    expect(document.openapi).toBe("3.1.0")
    expect(document.info).toMatchObject({ title: "Punctual", version: "1" })
    const paths = Object.entries(document.paths).filter(([path]) => path.startsWith("/api/"))
    const calls = paths.filter(([path]) => path !== eventStreamPath)
    expect(paths.length).toBe(calls.length + 1)
    expect(calls.map(([path]) => path)).toEqual(names.map(pathOf))
    for (const [path, item] of calls) {
      expect([path, Object.keys(item)]).toEqual([path, ["post"]])
      expect(Object.keys(item.post?.requestBody?.content ?? {})).toEqual(["application/json"])
      expect(item.post?.summary).toBeString()
      expect(item.post?.description).toBeString()
    }
    expect(new Set(names.map((name) => operationOf(name).operationId)).size).toBe(names.length)
  })

  test("resolves every reference, and names nothing twice", () => {
    const schemas = Object.keys(document.components.schemas)
    const components = document.components as unknown as Record<string, Record<string, unknown>>
    walk(document, (node) => {
      if (typeof node["$ref"] !== "string") return
      const [, , kind = "", name = ""] = node["$ref"].split("/")
      expect(Object.keys(components[kind] ?? {})).toContain(name)
    })
    expect(schemas.filter((name) => /_\d+$/.test(name))).toEqual([])
  })

  test("documents failures as problem documents, under their statuses", () => {
    const common = [400, 401, 403, 405, 408, 413, 415, 429, 500, 503]
    const own: Partial<Record<string, Array<number>>> = {
      create: [409],
      get: [404],
      update: [404, 409],
      delete: [404, 409],
      replay: [404],
      discard: [404],
      "bulk.start": [409],
      "bulk.get": [404],
      "bulk.abort": [404],
      advance: [409],
      "service.resume": [409],
      "messages.list": [409],
      "messages.get": [404, 409],
      "messages.replay": [404, 409],
      "messages.discard": [404, 409],
      "keys.create": [409],
      "keys.rotate": [404, 409],
      "keys.revoke": [404, 409],
      "keys.revokeLeaked": [404, 409],
      "keys.confirm": [404, 409],
      "keys.get": [404],
    }
    for (const name of names) {
      const { 200: success, ...failures } = operationOf(name).responses
      expect(Object.keys(success?.content ?? {})).toEqual(["application/json"])
      expect(Object.keys(failures).map(Number).sort()).toEqual([...common, ...(own[name] ?? [])].sort())
      for (const failure of Object.values(failures))
        expect(Object.keys(failure.content ?? {})).toEqual(["application/problem+json"])
      expect(failures[405]?.headers).toHaveProperty("allow")
      for (const status of [429, 503]) expect(failures[status]?.headers).toHaveProperty("retry-after")
    }
    const codes = new Set<unknown>()
    walk(document.components.schemas, (node) => {
      const code = (node["properties"] as Record<string, { enum?: Array<unknown> }> | undefined)?.["code"]
      if (code?.enum !== undefined) codes.add(code.enum[0])
    })
    for (const code of codes) expect(Object.keys(problemCodes)).toContain(String(code))
    expect(codes.size).toBe(26)
  })

  test("every 429 and 503 says when to try again, and whether the call may have been carried out", () => {
    const statusOf = (properties: Record<string, { enum?: Array<unknown> }>) =>
      properties["status"]?.enum?.[0]
    const judged: Array<string> = []
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const { properties, required } = schema as {
        readonly properties?: Record<string, { enum?: Array<unknown> }>
        readonly required?: ReadonlyArray<string>
      }
      const status = statusOf(properties ?? {})
      if (status !== 429 && status !== 503) continue
      judged.push(name)
      expect([name, required]).toEqual([name, expect.arrayContaining(["retryAfterSeconds", "written"])])
      expect(properties?.["written"]).toMatchObject({ enum: ["no", "unknown"] })
    }
    // Only the Service Agent answers `storeUnavailable`.
    const { storeUnavailable: _, ...ofTimers } = problemCodes
    const codes = Object.values(ofTimers).filter(({ status }) => status === 429 || status === 503)
    expect(judged.length).toBe(codes.length)
  })

  test("allows no other fields in requests, and allows them in answers, which may gain fields", () => {
    const isClosed = (name: string) => document.components.schemas[name]?.["additionalProperties"] === false
    for (const name of [
      "CreateTimer",
      "UpdateTimer",
      "ListTimers",
      "WebhookTargetInput",
      "RetryPolicyInput",
      "TimerFilter",
      "BulkFilterInput",
    ])
      expect([name, isClosed(name)]).toEqual([name, true])
    for (const name of [
      "Timer",
      "CreateTimerAnswer",
      "WebhookTarget",
      "EventTarget",
      "RetryPolicy",
      "TimerNotFoundProblem",
      "Attempt",
      "BulkJob",
      "BulkFilter",
    ])
      expect([name, isClosed(name)]).toEqual([name, false])
  })

  test("names a create as the item of createMany", () => {
    expect(document.components.schemas["CreateManyTimers"]).toMatchObject({
      properties: {
        timers: { minItems: 1, maxItems: 1000, items: { $ref: "#/components/schemas/CreateTimer" } },
      },
    })
  })

  test("gives an example for each call that the call accepts", () => {
    for (const name of names) {
      const body = operationOf(name).requestBody?.content["application/json"] as
        | { example?: unknown }
        | undefined
      expect([name, refusalsOf(requests[name], body?.example)]).toEqual([name, []])
    }
    const many = operationOf("createMany").requestBody?.content["application/json"] as
      | { example?: { timers: Array<unknown> } }
      | undefined
    const [accepted, refused] = many?.example?.timers ?? []
    expect(refusalsOf(requests.create, accepted)).toEqual([])
    // The second item shows what an item that fails is answered with.
    expect(refusalsOf(requests.create, refused)).not.toEqual([])
  })

  test("leaks no internal names", () => {
    const text = JSON.stringify(document)
    for (const leak of [
      "Encoded",
      "_tag",
      "effect",
      "timeoutMs",
      "IntervalMs",
      "expireAfterMs",
      "maxDurationMs",
      "Infinity",
      "undefined",
      "/src/",
      "<filter>",
    ]) {
      expect([leak, text.includes(leak)]).toEqual([leak, false])
    }
  })

  test("has the limits of the operator", () => {
    const small = OpenApi.fromApi(makePunctualApi({ ...defaultLimits, createMany: 7, urlLength: 99 }))
    expect(small.components.schemas["CreateManyTimers"]).toMatchObject({
      properties: { timers: { maxItems: 7 } },
    })
    expect(small.components.schemas["CreateTimer"]).toMatchObject({
      properties: { callbackUrl: { maxLength: 99 } },
    })
  })
})

describe("the generated client", () => {
  const timer: typeof TimerSchema.Type = {
    namespace: "billing",
    timerId: "a",
    state: "pending",
    revision: 1,
    fireId: "f",
    executeAt: 1_893_488_400_000,
    attempts: 0,
    target: { type: "event" },
    retryPolicy: defaultRetryPolicy,
    correlationId: "c",
    createdAt: 0,
    updatedAt: 0,
  }

  /** A transport that gives every request the same answer, and remembers the request. */
  const answering = (status: number, contentType: string, body: unknown) => {
    const sent: Array<{ readonly url: string; readonly method: string; readonly body: unknown }> = []
    const client = HttpClient.make((request, url) =>
      Effect.sync(() => {
        const text = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : "null"
        sent.push({ url: url.pathname, method: request.method, body: JSON.parse(text) })
        const response = new Response(JSON.stringify(body), {
          status,
          headers: { "content-type": contentType },
        })
        return HttpClientResponse.fromWeb(request, response)
      }),
    )
    return { sent, layer: Layer.succeed(HttpClient.HttpClient, client) }
  }

  const key = { namespace: Namespace.make("billing"), timerId: TimerId.make("a") }
  const makeClient = HttpApiClient.make(PunctualApi, { baseUrl: "http://punctual.example" })

  test("sends the wire form and reads the answer as plain data", async () => {
    const transport = answering(200, "application/json", {
      result: "created",
      timer: Schema.encodeSync(TimerSchema)(timer),
    })
    const program = Effect.gen(function* () {
      const client = yield* makeClient
      return yield* client.timers.create({
        payload: { ...key, executeAt: 1_893_488_400_000, target: { type: "event" }, payload: { a: 1 } },
      })
    })
    const answer = await Effect.runPromise(program.pipe(Effect.provide(transport.layer)))
    expect(answer).toEqual({ result: "created", timer })
    expect(transport.sent).toEqual([
      {
        url: "/api/v1/timers/create",
        method: "POST",
        body: {
          namespace: "billing",
          timerId: "a",
          executeAt: "2030-01-01T09:00:00.000Z",
          target: { type: "event" },
          payload: { a: 1 },
        },
      },
    ])
  })

  test("fails with the class of the problem that was answered", async () => {
    const problem = toProblemDocument(new TimerNotFound({ detail: "no timer billing/a" }))
    const transport = answering(404, "application/problem+json", problem)
    const program = Effect.gen(function* () {
      const client = yield* makeClient
      return yield* client.timers.get({ payload: key })
    }).pipe(Effect.catchTag("TimerNotFound", (failure) => Effect.succeed(failure)))
    const failure = await Effect.runPromise(program.pipe(Effect.provide(transport.layer)))
    expect(failure).toBeInstanceOf(TimerNotFound)
    expect(failure).toMatchObject({ code: "timerNotFound", status: 404, detail: "no timer billing/a" })
  })
})
