import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { defaultLimits } from "../src/Limits.ts"
import {
  GetNamespace,
  ListNamespacesAnswer,
  makeListNamespaces,
  makePutNamespace,
  NamespaceAnswer,
} from "../src/NamespaceSettings.ts"
import { requestParseOptions } from "../src/requestParseOptions.ts"
import { refusalsOf } from "./refusals.ts"

const put = makePutNamespace(defaultLimits)
const list = makeListNamespaces(defaultLimits)
const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`
const otherSecret = `whsec_${Buffer.alloc(32, 2).toString("base64")}`

const pointersOf = (body: unknown) => refusalsOf(put, body).map((refusal) => refusal.split(" ")[0])

describe("the settings put for a namespace", () => {
  test("can be any of its settings, or none", () => {
    const decode = Schema.decodeUnknownSync(put, requestParseOptions)
    expect(decode({ namespace: "shop" })).toEqual(expect.objectContaining({ namespace: "shop" }))
    expect(
      decode({
        namespace: "shop",
        webhookSecrets: [secret, otherSecret],
        retryPolicy: { maxAttempts: 3, initialInterval: "1s" },
        maxInFlight: 10_000,
        maxPending: 0,
        createsPerSecond: 1,
        paused: false,
      }),
    ).toMatchObject({ retryPolicy: { maxAttempts: 3, initialInterval: 1_000 }, maxPending: 0, paused: false })
  })

  test("must not name the same secret twice, not even in another spelling of base64", () => {
    const respelt = secret.replace(/.=$/, "F=")
    for (const second of [secret, respelt]) {
      expect(refusalsOf(put, { namespace: "shop", webhookSecrets: [secret, second] })).toEqual([
        "/webhookSecrets/1 is the same as the first secret: remove one of them",
      ])
    }
  })

  test("may keep a secret by its fingerprint, once", () => {
    const kept = { fingerprint: "0123456789abcdef" }
    expect(refusalsOf(put, { namespace: "shop", webhookSecrets: [secret, kept] })).toEqual([])
    expect(refusalsOf(put, { namespace: "shop", webhookSecrets: [kept, kept] })).toEqual([
      "/webhookSecrets/1 is the same as the first secret: remove one of them",
    ])
    expect(pointersOf({ namespace: "shop", webhookSecrets: [{ fingerprint: "short" }] })).toEqual([
      "/webhookSecrets/0/fingerprint",
    ])
    expect(pointersOf({ namespace: "shop", webhookSecrets: ["whsec_short"] })).toEqual(["/webhookSecrets/0"])
  })

  test("may name who is told of dead timers", () => {
    for (const onDead of [{ type: "event" }, { type: "webhook", url: "https://h/" }, null]) {
      expect(refusalsOf(put, { namespace: "shop", onDead })).toEqual([])
    }
    expect(refusalsOf(put, { namespace: "shop", onDead: 5 })).toEqual([
      "/onDead must be an object whose type is webhook or event, or null",
    ])
    expect(refusalsOf(put, { namespace: "shop", onDead: { type: "handler" } })).toEqual([
      "/onDead must be an object whose type is webhook or event",
    ])
  })

  test("are reset by null", () => {
    const resets = {
      webhookSecrets: null,
      retryPolicy: null,
      maxInFlight: null,
      maxPending: null,
      createsPerSecond: null,
      paused: null,
    }
    expect(refusalsOf(put, { namespace: "shop", ...resets })).toEqual([])
  })

  test("say why the namespace is paused only together with its pause, in visible text", () => {
    const pause = { namespace: "shop", paused: true }
    for (const pauseReason of ["x", "x".repeat(500)]) {
      expect(refusalsOf(put, { ...pause, pauseReason })).toEqual([])
    }
    for (const pauseReason of ["", " ", "a\u202eb", "x".repeat(501), null, 7]) {
      expect(pointersOf({ ...pause, pauseReason })).toEqual(["/pauseReason"])
    }
    for (const paused of [false, null]) {
      expect(refusalsOf(put, { namespace: "shop", paused, pauseReason: "x" })).toEqual([
        "/pauseReason is only for a pause: send paused: true with it, or remove it",
      ])
    }
    expect(pointersOf({ namespace: "shop", pauseReason: "x" })).toEqual(["/pauseReason"])
  })

  test("are refused field by field, each with its valid values", () => {
    expect(pointersOf({ namespace: "_service" })).toEqual(["/namespace"])
    expect(
      pointersOf({
        namespace: "shop",
        webhookSecrets: [secret, secret, secret],
        maxInFlight: 0,
        maxPending: -1,
        createsPerSecond: 1.5,
        paused: "yes",
        quota: 1,
      }).sort(),
    ).toEqual(["/createsPerSecond", "/maxInFlight", "/maxPending", "/paused", "/quota", "/webhookSecrets"])
    expect(pointersOf({ namespace: "shop", webhookSecrets: [] })).toEqual(["/webhookSecrets"])
    expect(pointersOf({ namespace: "shop", webhookSecrets: [secret, "x"] })).toEqual(["/webhookSecrets/1"])
    expect(refusalsOf(put, { namespace: "shop", maxInFlight: 10_001 })).toEqual([
      "/maxInFlight must be a whole number from 1 to 10000, or null",
    ])
  })

  test("never repeats a secret in a refusal", () => {
    const refusals = refusalsOf(put, { namespace: "shop", webhookSecrets: [`${secret}?`, 7], paused: 1 })
    expect(JSON.stringify(refusals)).not.toContain(secret.slice(6, 30))
  })
})

describe("a request about namespaces", () => {
  test("names one namespace, or asks for a page", () => {
    expect(refusalsOf(GetNamespace, { namespace: "shop" })).toEqual([])
    expect(refusalsOf(GetNamespace, {})).toEqual(["/namespace is required"])
    for (const asked of [{}, { limit: 1 }, { limit: defaultLimits.namespacePage, cursor: "x" }])
      expect(refusalsOf(list, asked)).toEqual([])
    for (const asked of [{ limit: 0 }, { limit: defaultLimits.namespacePage + 1 }, { cursor: "" }])
      expect(refusalsOf(list, asked)).toHaveLength(1)
  })
})

test("an answer shows secrets as fingerprints, durations as text and instants in UTC", () => {
  const settings = {
    namespace: "shop",
    webhookSecrets: [{ fingerprint: "0123456789abcdef" }],
    retryPolicy: {
      maxAttempts: 3,
      initialInterval: "5s",
      backoffMultiplier: 4,
      maxInterval: "8h",
      jitter: 0.2,
    },
    maxPending: 5,
    paused: true,
    pausedSince: "2030-01-01T00:00:00.000Z",
    pauseReason: "a move",
    updatedAt: "2030-01-01T00:00:00.000Z",
    pending: { count: 2, capped: false },
    dead: { count: 10_000, capped: true },
  }
  const answers: ReadonlyArray<readonly [typeof NamespaceAnswer | typeof ListNamespacesAnswer, unknown]> = [
    [NamespaceAnswer, { settings }],
    [ListNamespacesAnswer, { namespaces: [settings], nextCursor: "x" }],
  ]
  for (const [schema, answer] of answers) {
    const codec = Schema.toCodecJson(schema as typeof NamespaceAnswer)
    const decoded = Schema.decodeUnknownSync(codec)(answer)
    expect(Schema.encodeUnknownSync(codec)(decoded)).toEqual(answer as never)
  }
})
