import { describe, expect, test } from "bun:test"
import { defaultLimits } from "../src/Limits.ts"
import { CountTimers, makeListTimers } from "../src/ListTimers.ts"
import { canonicalHost } from "../src/TargetHost.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const ListTimers = makeListTimers(defaultLimits)
const namespace = "billing"

describe("a list", () => {
  test("takes every filter at once, with times in milliseconds", () => {
    const body = {
      namespace,
      state: "dead",
      from: "2030-01-01T09:00:00Z",
      until: "2030-01-01T09:00:01Z",
      idPrefix: "a",
      correlationId: "c",
      order: "desc",
      include: ["payload"],
      cursor: "abc",
      limit: 5,
    }
    const request: unknown = decoded(ListTimers, body)
    expect(request).toEqual({ ...body, from: 1_893_488_400_000, until: 1_893_488_401_000 })
    expect(refusalsOf(ListTimers, { namespace })).toEqual([])
  })

  test("has pages of 1 to 1,000", () => {
    for (const limit of [1, 1000]) expect(refusalsOf(ListTimers, { namespace, limit })).toEqual([])
    for (const limit of [0, 1001, 1.5, "5", null])
      expect(refusalsOf(ListTimers, { namespace, limit })).toEqual([
        expect.stringContaining("/limit must be a whole number from 1 to 1000"),
      ])
  })

  test("has a cursor of at most 1,024 characters", () => {
    expect(refusalsOf(ListTimers, { namespace, cursor: "a".repeat(1024) })).toEqual([])
    for (const cursor of ["", "a".repeat(1025), 5])
      expect(refusalsOf(ListTimers, { namespace, cursor })).toEqual([
        "/cursor must be the nextCursor of an earlier answer",
      ])
  })

  test("includes timers in flight in pending", () => {
    for (const state of ["pending", "delivered", "cancelled", "dead"])
      expect(refusalsOf(ListTimers, { namespace, state })).toEqual([])
    expect(refusalsOf(ListTimers, { namespace, state: "inFlight" })).toEqual([
      "/state must be one of pending, delivered, cancelled, dead (pending includes timers in flight)",
    ])
  })

  test("can include only payloads, once", () => {
    for (const include of [[], ["payload"]])
      expect(refusalsOf(ListTimers, { namespace, include })).toEqual([])
    expect(refusalsOf(ListTimers, { namespace, include: ["history"] })).toEqual([
      '/include/0 must be "payload"',
    ])
    expect(refusalsOf(ListTimers, { namespace, include: ["payload", "payload"] })).toEqual([
      '/include must contain "payload" at most once',
    ])
    expect(refusalsOf(ListTimers, { namespace, include: "payload" })).toEqual([
      '/include must be an array that may contain "payload"',
    ])
  })

  test("has a valid order and a valid range", () => {
    expect(refusalsOf(ListTimers, { namespace, order: "up" })).toEqual(["/order must be asc or desc"])
    const range = { from: "2030-01-01T09:00:00Z", until: "2030-01-01T09:00:00Z" }
    for (const schema of [ListTimers, CountTimers])
      expect(refusalsOf(schema, { namespace, ...range })).toEqual(["/until must be after from"])
  })
})

describe("a list over several namespaces and states", () => {
  test("takes names, beginnings of names, or all", () => {
    for (const namespaces of [["a"], ["a", "b-*"], ["*"], Array.from({ length: 20 }, (_, n) => `n${n}`)])
      for (const schema of [ListTimers, CountTimers]) expect(refusalsOf(schema, { namespaces })).toEqual([])
    const message = '/namespaces/0 must be a namespace, a prefix such as "team-*", or "*"'
    for (const choice of ["", "_a", "_*", "a*b", "**", "a b", "a".repeat(101), 5])
      expect(refusalsOf(ListTimers, { namespaces: [choice] })).toEqual([message])
    for (const namespaces of [[], "a", Array.from({ length: 21 }, () => "a")])
      expect(refusalsOf(ListTimers, { namespaces })).toEqual([
        "/namespaces must be an array of 1 to 20 namespaces",
      ])
    expect(refusalsOf(ListTimers, { namespaces: ["a", "b", "a"] })).toEqual([
      "/namespaces/2 is given twice: remove one of them",
    ])
    expect(refusalsOf(ListTimers, { namespaces: ["a", "*"] })).toEqual([
      "/namespaces/1 means all namespaces: remove it, or remove the others",
    ])
  })

  test("takes each field of two that exclude each other alone", () => {
    for (const schema of [ListTimers, CountTimers]) {
      expect(refusalsOf(schema, {})).toEqual([
        "/namespace is required: give exactly one of namespace and namespaces",
      ])
      expect(refusalsOf(schema, { namespace, namespaces: ["a"] })).toEqual([
        "/namespaces cannot be given together with namespace: remove one of them",
      ])
      expect(refusalsOf(schema, { namespace, state: "dead", states: ["dead"] })).toEqual([
        "/states cannot be given together with state: remove one of them",
      ])
    }
  })

  test("takes each state once", () => {
    for (const states of [["dead"], ["dead", "pending"], ["pending", "delivered", "cancelled", "dead"]])
      expect(refusalsOf(ListTimers, { namespace, states })).toEqual([])
    expect(refusalsOf(ListTimers, { namespace, states: [] })).toEqual([
      "/states must be an array of 1 to 4 states",
    ])
    expect(refusalsOf(ListTimers, { namespace, states: ["dead", "dead"] })).toEqual([
      "/states/1 is given twice: remove one of them",
    ])
  })

  test("is over all namespaces for pending timers and dead letters only", () => {
    const namespaces = ["*"]
    for (const scope of [{}, { state: "dead" }, { states: ["pending", "dead"] }])
      expect(refusalsOf(ListTimers, { namespaces, ...scope })).toEqual([])
    const why = 'must be pending or dead with namespaces ["*"]: name the namespaces for other states'
    expect(refusalsOf(ListTimers, { namespaces, state: "delivered" })).toEqual([`/state ${why}`])
    expect(refusalsOf(CountTimers, { namespaces, states: ["dead", "cancelled"] })).toEqual([`/states ${why}`])
  })
})

describe("a filter", () => {
  test("has hosts, reasons, errors and lateness", () => {
    const filter = { host: "Example.com:8443", reason: "expired", error: "4xx", minLateness: "1m30s" }
    const request: unknown = decoded(ListTimers, { namespace, states: ["dead", "pending"], ...filter })
    expect(request).toMatchObject({ ...filter, minLateness: 90_000 })
    expect(refusalsOf(ListTimers, { namespace, error: "3xx" })).toEqual([
      "/error must be one of timeout, network, 4xx, 5xx",
    ])
    expect(refusalsOf(ListTimers, { namespace, minLateness: "0s" })).toEqual([
      expect.stringContaining("/minLateness must be a duration from 1ms to"),
    ])
    expect(refusalsOf(CountTimers, { namespace, state: "dead", reason: "attemptExhausted" })).toEqual([
      "/reason must be one of attemptsExhausted, durationExhausted, expired, refused, egressRefused, invalidTarget, notDead",
    ])
    const why =
      '/reason is only for dead letters and cancelled timers: add state "dead" or "cancelled", or remove it'
    expect(refusalsOf(ListTimers, { namespace, reason: "expired" })).toEqual([why])
    expect(refusalsOf(CountTimers, { namespace, reason: "expired", state: "delivered" })).toEqual([why])
    for (const state of ["dead", "cancelled"])
      expect(refusalsOf(ListTimers, { namespace, reason: "expired", state })).toEqual([])
  })

  test("knows what a host is", () => {
    for (const [text, host] of [
      ["Hooks.Example.COM", "hooks.example.com"],
      ["example.com:0443", "example.com:443"],
      ["127.0.0.1:80", "127.0.0.1:80"],
      ["[::1]:8080", "[::1]:8080"],
      ["localhost", "localhost"],
    ] as const) {
      expect(canonicalHost(text)).toBe(host)
      expect(refusalsOf(ListTimers, { namespace, host: text })).toEqual([])
    }
    for (const host of [
      "",
      "https://a",
      "a/b",
      "a:b",
      "a:65536",
      "::1",
      "u@a",
      "a b",
      "a?b",
      "a".repeat(300),
    ])
      expect(refusalsOf(ListTimers, { namespace, host })).toEqual([
        expect.stringContaining("/host must be a host such as"),
      ])
  })
})

describe("a count", () => {
  test("takes the same filter and no paging", () => {
    expect(refusalsOf(CountTimers, { namespace, state: "dead", idPrefix: "a", correlationId: "c" })).toEqual(
      [],
    )
    for (const field of ["limit", "cursor", "order", "include"]) {
      expect(refusalsOf(CountTimers, { namespace, [field]: 1 })).toEqual([
        expect.stringContaining(`/${field} is an unknown field`),
      ])
    }
  })
})
