import { describe, expect, test } from "bun:test"
import { DeleteManyTimers } from "../src/DeleteManyTimers.ts"
import { DeleteTimer } from "../src/DeleteTimer.ts"
import { DiscardTimers, ReplayTimers } from "../src/ReplayTimers.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const namespace = "billing"

describe("a deleteMany", () => {
  test("takes a filter or all, never both and never none", () => {
    const request: unknown = decoded(DeleteManyTimers, {
      namespace,
      filter: { idPrefix: "a", from: "2030-01-01T09:00:00Z" },
    })
    expect(request).toEqual({ namespace, filter: { idPrefix: "a", from: 1_893_488_400_000 } })
    expect(refusalsOf(DeleteManyTimers, { namespace, all: true })).toEqual([])
    expect(refusalsOf(DeleteManyTimers, { namespace })).toEqual([
      "/filter is required: give exactly one of filter and all",
    ])
    expect(refusalsOf(DeleteManyTimers, { namespace, all: true, filter: { idPrefix: "a" } })).toEqual([
      "/all cannot be given together with filter: remove one of them",
    ])
  })

  test("does not empty a namespace by an empty filter, or by all that is not true", () => {
    expect(refusalsOf(DeleteManyTimers, { namespace, filter: {} })).toEqual([
      expect.stringContaining("/filter must have at least one of from, until, idPrefix, correlationId, tag"),
    ])
    for (const all of [false, null, 1, "true"])
      expect(refusalsOf(DeleteManyTimers, { namespace, all })).toEqual(["/all must be true"])
  })

  test("names what is wrong inside its filter", () => {
    const filter = { from: "2030-01-02T00:00:00Z", until: "2030-01-02T00:00:00Z" }
    expect(refusalsOf(DeleteManyTimers, { namespace, filter })).toEqual(["/filter/until must be after from"])
    expect(refusalsOf(DeleteManyTimers, { namespace, filter: { state: "dead", idPrefix: "" } })).toEqual([
      "/filter/state is an unknown field: remove it, or use one of from, until, idPrefix, correlationId, tag, host, reason, error, minLateness",
      "/filter/idPrefix must be text of 1 to 255 bytes of UTF-8 without control characters",
    ])
    expect(refusalsOf(DeleteManyTimers, { namespace, filter: 5 })).toEqual([
      "/filter must be an object of filters",
    ])
  })
})

describe("calls on many timers", () => {
  test("refuse a filter that can match nothing, and several namespaces", () => {
    expect(refusalsOf(DeleteManyTimers, { namespace, filter: { reason: "refused" } })).toEqual([
      "/filter/reason is only for dead letters and cancelled timers, but this call cancels pending timers: remove it",
    ])
    expect(refusalsOf(ReplayTimers, { namespace, filter: { reason: "refused" } })).toEqual([])
    for (const schema of [DeleteManyTimers, ReplayTimers, DiscardTimers]) {
      const filter = { namespaces: ["a*"], host: "example.com" }
      expect(refusalsOf(schema, { namespace, filter })).toEqual([
        expect.stringContaining("/filter/namespaces is an unknown field"),
      ])
    }
  })

  test("say why only if they remove something, in visible text", () => {
    expect(refusalsOf(DiscardTimers, { namespace, all: true, reason: "test data" })).toEqual([])
    expect(refusalsOf(DiscardTimers, { namespace, all: true, reason: " " })).toEqual([
      "/reason must not consist of spaces only",
    ])
    expect(refusalsOf(ReplayTimers, { namespace, all: true, reason: "test data" })).toHaveLength(1)
  })

  test("go on by a cursor, which belongs to a filter", () => {
    for (const schema of [DeleteManyTimers, ReplayTimers, DiscardTimers]) {
      const filter = { host: "example.com", error: "5xx", minLateness: "1m" }
      expect(refusalsOf(schema, { namespace, filter, cursor: "abc" })).toEqual([])
      expect(refusalsOf(schema, { namespace, all: true, cursor: "abc" })).toEqual([
        "/cursor can be used only with filter: remove it",
      ])
    }
  })
})

describe("a delete", () => {
  test("names its key, and optionally the expected revision", () => {
    const request: unknown = decoded(DeleteTimer, { namespace, timerId: "a", ifRevision: 5 })
    expect(request).toEqual({ namespace, timerId: "a", ifRevision: 5 })
    expect(refusalsOf(DeleteTimer, { namespace, timerId: "a", ifRevision: 0.5, force: true })).toEqual([
      "/force is an unknown field: remove it, or use one of namespace, timerId, ifRevision",
      "/ifRevision must be a revision: a whole number",
    ])
  })
})
