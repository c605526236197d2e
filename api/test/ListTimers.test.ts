import { describe, expect, test } from "bun:test"
import { defaultLimits } from "../src/Limits.ts"
import { CountTimers, makeListTimers } from "../src/ListTimers.ts"
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
        "/limit must be a whole number from 1 to 1000",
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
      "/state must be one of pending, delivered, cancelled, dead (pending includes those in flight)",
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

describe("a count", () => {
  test("takes the same filter and no paging", () => {
    expect(refusalsOf(CountTimers, { namespace, state: "dead", idPrefix: "a", correlationId: "c" })).toEqual(
      [],
    )
    for (const field of ["limit", "cursor", "order", "include"]) {
      expect(refusalsOf(CountTimers, { namespace, [field]: 1 })).toEqual([
        expect.stringContaining(`/${field} unknown field`),
      ])
    }
  })
})
