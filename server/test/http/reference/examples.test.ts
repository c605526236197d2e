// The examples of the OpenAPI document, sent to a real service: its answers must be as documented, and as the examples say.
import { describe, expect, test } from "bun:test"
import { answerExamples } from "@punctual/api/answerExamples"
import { Namespace } from "@punctual/api/Namespace"
import type { ProblemCode } from "@punctual/api/Problem"
import { AggregateId } from "@punctual/bus/AggregateId"
import { Bus, MessageRefused } from "@punctual/bus/Bus"
import { MessageType } from "@punctual/bus/Envelope"
import { EnvelopeId } from "@punctual/bus/EnvelopeId"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Documents } from "@punctual/documents/Documents"
import { DoorRecords } from "@punctual/door/DoorRecords"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { type KeyRecord, keysKind } from "@punctual/door/KeyRecord"
import { digestOfKey } from "@punctual/door/KeyText"
import { Effect, Logger } from "effect"
import { timerRouting, timerTopics } from "../../../src/messaging/timerRouting.ts"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { OpenApiValidator } from "../../../testkit/OpenApiValidator.ts"
import { type Answered, type RunningService, withService } from "../ServiceFixture.ts"

// biome-ignore lint/suspicious/noExplicitAny: documents and answers are read by paths that the tests themselves check.
type Json = any

const start = Date.parse("2029-12-31T12:00:00Z")

/** Refuses the timer of the examples for good, so that there is a dead letter, and takes the rest. */
const deliver = ({ timerId }: { readonly timerId: string }) =>
  Effect.succeed<Delivery>(
    timerId === "invoice-4711-reminder"
      ? { kind: "dead", reason: "refused", error: "answered 410: not to be repeated", status: 410 }
      : { kind: "delivered", status: 200 },
  )

/** The key that the examples name. It is from before a restore. */
const withKey = Effect.gen(function* () {
  const documents = yield* Documents
  const value: KeyRecord = {
    label: "billing service",
    actions: ["timers.read"],
    namespaces: ["billing"],
    secrets: [{ digest: digestOfKey(answerExamples["keys.create"]?.["apiKey"] as string).toString("hex") }],
    createdAtMs: start,
    madeBy: "anna",
    restores: 0,
  }
  yield* documents.put({ kind: keysKind, id: "7sKq20XbnR", expectedVersion: 0, value, updatedAt: start })
  yield* new DoorRecords(documents).raiseRestores(start)
  yield* Effect.flatMap(KeyDirectory, ({ refresh }) => refresh)
}).pipe(Effect.orDie)

const about = {
  build: { version: "0.1.0", commit: "4f1c2e9", builtAt: "2029-12-01T08:00:00.000Z" },
  settings: [{ name: "TIMER_HTTP_PORT", value: "8080", isSet: false }],
}

/** A service with a bus that has one undeliverable message. */
const withBus = (use: (service: RunningService) => Promise<void>): Promise<void> =>
  Effect.gen(function* () {
    const topics = timerTopics("shared")
    const bus = yield* Bus
    yield* bus.subscribe({
      group: "punctual",
      topic: topics.commands,
      types: new Set(["ScheduleTimer"]),
      handle: () => Effect.fail(new MessageRefused({ message: "dueAt must be an instant with an offset" })),
      observe: () => {},
    })
    yield* bus.publish([
      {
        id: EnvelopeId.make("01b8d832-8600-7f00-8000-000000000001"),
        type: MessageType.make("ScheduleTimer"),
        tenantId: Namespace.make("billing"),
        aggregateId: AggregateId.make("invoice-4711-reminder"),
        timestampMs: start,
        payloadJson: '{"tenantId":"billing","serviceCallId":"invoice-4711-reminder","dueAt":"tomorrow"}',
      },
    ])
    const messages = yield* UndeliverableMessages
    yield* Effect.promise(() =>
      withService({ clockStartMs: start, messages, deliver, auth: "off", before: withKey, about }, use),
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(LocalBus.layer(timerRouting(timerTopics("shared")))),
    Effect.provide(Logger.layer([])),
    Effect.runPromise,
  )

/** The fields that one value shows and the other lacks, however deep. Of arrays the first items are compared. */
const lacking = (shown: Json, other: Json, path = ""): ReadonlyArray<string> => {
  if (typeof shown !== "object" || shown === null) return []
  if (Array.isArray(shown)) {
    return shown.length === 0 || !(other?.length > 0) ? [] : lacking(shown[0], other[0], `${path}[]`)
  }
  return Object.entries(shown).flatMap(([key, inner]) =>
    other?.[key] === undefined ? [`${path}.${key}`] : lacking(inner, other[key], `${path}.${key}`),
  )
}

/** The order in which the examples work one after the other, and the calls that must come before some of them. */
const script = (create: Json): ReadonlyArray<string | readonly [path: string, body: unknown]> => [
  "timers.create",
  "timers.createMany",
  [
    "timers/createMany",
    { timers: Array.from({ length: 50 }, (_, n) => ({ ...create, timerId: `page-${n}` })) },
  ],
  "timers.get",
  "timers.list",
  "timers.histogram",
  "timers.lives",
  "timers.update",
  "namespaces.put",
  "namespaces.get",
  "namespaces.list",
  "service.get",
  "service.pause",
  "service.resume",
  "breakers.list",
  "breakers.reset",
  "egress.check",
  "cluster.cluster",
  "clock.advance",
  "timers.count",
  "bulk.start",
  "bulk.abort",
  "bulk.get",
  "bulk.list",
  "timers.activity",
  "timers.replay",
  "timers.discard",
  ["timers/create", { ...create, executeAt: "2030-06-01T00:00:00Z" }],
  "timers.delete",
  ["timers/create", { ...create, executeAt: "2030-06-01T00:00:00Z" }],
  "timers.deleteMany",
  "messages.list",
  "messages.get",
  "messages.replay",
  "messages.discard",
  "keys.confirm",
  "sessions.create",
  "sessions.end",
  "keys.create",
  "keys.get",
  "keys.list",
  "keys.self",
  "keys.rotate",
  "keys.revokeLeaked",
  "keys.revoke",
  "audit.list",
]

test("each example is answered as documented, with every field that the answer's example shows", () =>
  withBus(async ({ fetch, post }) => {
    const document: Json = (await fetch("/openapi.json")).json
    const validator = new OpenApiValidator(document)
    const operations = new Map(
      Object.entries<Json>(document.paths)
        .filter(([path, { post: operation }]) => path.startsWith("/api/v1/") && operation !== undefined)
        .map(([path, { post: operation }]) => [operation.operationId, { path, operation }]),
    )
    const send = (path: string, body: unknown) =>
      fetch(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      })
    const create = operations.get("timers.create")?.operation.requestBody.content["application/json"].example
    const sent = new Set<string>()
    for (const step of script(create)) {
      if (typeof step !== "string") {
        expect((await send(`/api/v1/${step[0]}`, step[1])).status).toBe(200)
        continue
      }
      sent.add(step)
      const { path, operation } = operations.get(step) as Json
      const body = { ...operation.requestBody.content["application/json"].example }
      if (step.startsWith("messages.") && "id" in body) {
        // The bus gives its messages ids of its own. A replay is refused again, and the message is kept under a new id.
        body.id = (await post("messages/list", {})).json.messages[0].id
      }
      if ("jobId" in body) body.jobId = (await post("bulk/list", {})).json.jobs[0].jobId
      const { status, text, json } = await send(path, body)
      expect([step, status, text]).toEqual([step, 200, text])
      const { schema, example } = operation.responses["200"].content["application/json"]
      expect([step, validator.errorsOf(schema, json)]).toEqual([step, []])
      expect([step, lacking(example, json)]).toEqual([step, []])
    }
    expect([...sent].sort()).toEqual([...operations.keys()].sort())
  }))

describe("an example of a problem", () => {
  const timer = {
    namespace: "billing",
    timerId: "t",
    delay: "1h",
    target: { type: "webhook", url: "http://h.example/" },
  }
  const refusals: Partial<Record<ProblemCode, (service: RunningService) => Promise<Answered>>> = {
    invalidJson: ({ call }) => call("create", '{ "namespace": '),
    invalidRequest: ({ call }) => call("create", { ...timer, delay: "soon" }),
    timerNotFound: ({ call }) => call("get", { namespace: "billing", timerId: "t" }),
    notFound: ({ fetch }) => fetch("/api/v1/nothing"),
    methodNotAllowed: ({ fetch }) => fetch("/api/v1/timers/create"),
    unsupportedMediaType: ({ call }) => call("create", timer, { "content-type": "text/plain" }),
    bodyTooLarge: ({ call }) => call("create", " ".repeat(2 * 1024 * 1024)),
    clockNotManual: ({ post }) => post("clock/advance", { by: "1s" }),
    egressRefused: ({ call }) =>
      call("create", { ...timer, target: { type: "webhook", url: "http://[::1]/" } }),
    timerExists: async ({ call }) => {
      await call("create", timer)
      return call("create", { ...timer, delay: "2h", onExisting: "fail" })
    },
    revisionMismatch: async ({ call }) => {
      await call("create", timer)
      return call("update", { namespace: "billing", timerId: "t", delay: "2h", ifRevision: 1 })
    },
    quotaExceeded: async ({ call, post }) => {
      await post("namespaces/put", { namespace: "billing", maxPending: 0 })
      return call("create", timer)
    },
  }
  for (const [code, provoke] of Object.entries(refusals)) {
    test(`is what the service answers: ${code}`, () =>
      withService({ egress: "public" }, async (service) => {
        const { components, paths }: Json = (await service.fetch("/openapi.json")).json
        const { value } = components.examples[code]
        const { status, json } = await provoke(service)
        expect([status, json.code]).toEqual([value.status, code])
        expect(Object.keys(value)).toEqual(expect.arrayContaining(Object.keys(json)))
        const body =
          paths["/api/v1/timers/create"].post.responses[status]?.content["application/problem+json"]
        if (body?.examples[code] !== undefined) {
          expect(new OpenApiValidator({ components }).errorsOf(body.schema, json)).toEqual([])
        }
      }))
  }
})

test("health and metrics are answered as documented", () =>
  withService({}, async ({ fetch, service }) => {
    const document: Json = (await fetch("/openapi.json")).json
    const validator = new OpenApiValidator(document)
    const check = async (path: string) => {
      const { status, json, headers } = await fetch(path)
      const { content } = document.paths[path].get.responses[status]
      const [mediaType = ""] = Object.keys(content)
      expect(headers.get("content-type")).toStartWith(mediaType)
      if (json !== undefined) expect(validator.errorsOf(content[mediaType].schema, json)).toEqual([])
      return status
    }
    const gets = Object.keys(document.paths).filter((path) => "get" in document.paths[path])
    const [stream, ...site] = gets
    expect(stream).toBe("/api/v1/events/stream")
    expect(site).toEqual(["/health/live", "/health/ready", "/metrics", "/openapi.json"])
    for (const path of site) expect([path, await check(path)]).toEqual([path, 200])
    service.close()
    expect(await check("/health/ready")).toBe(503)
  }))
