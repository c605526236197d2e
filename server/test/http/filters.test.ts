// Filters over several namespaces and states, and those without an index, as callers meet them.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { networkTexts, timeoutTexts } from "../../src/domain/errorClassOf.ts"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const hook = "https://hooks.example.com/a"
const once = { maxAttempts: 1 }

const create = async (
  { call }: RunningService,
  namespace: string,
  timerId: string,
  rest: Record<string, unknown> = {},
): Promise<void> => {
  const timer = { namespace, timerId, executeAt: "2031-01-01T00:00:00Z", callbackUrl: hook, ...rest }
  succeeded("create", await call("create", timer))
}

const idsIn = async ({ call }: RunningService, query: Record<string, unknown>) =>
  succeeded("list", await call("list", query)).timers.map(
    ({ namespace, timerId }) => `${namespace}/${timerId}`,
  )

/** Deliveries by the beginning of a timer's id. */
const deliver = ({ timerId }: Fire): Effect.Effect<Delivery> =>
  Effect.sync((): Delivery => {
    const retry = { kind: "retry", isHostFailure: false } as const
    if (timerId.startsWith("ok")) return { kind: "delivered", status: 200 }
    if (timerId.startsWith("slow")) return { ...retry, error: `${timeoutTexts.webhook} a within 15s` }
    if (timerId.startsWith("away")) return { ...retry, error: `${networkTexts.refused}: a` }
    if (timerId.startsWith("500")) return { ...retry, error: "answered 500", status: 500 }
    return { kind: "dead", reason: "refused", error: "answered 410: not to be repeated", status: 410 }
  })

/** Timers whose first attempt is their last. */
const fire = async (running: RunningService, namespace: string, ids: ReadonlyArray<string>) => {
  for (const timerId of ids)
    await create(running, namespace, timerId, { executeAt: "2020-01-01T00:00:00Z", retryPolicy: once })
  await eventually("all have ended", async () =>
    (await running.pendingIn(namespace)) === 0 ? true : undefined,
  )
}

describe("several namespaces", () => {
  test("are listed together, earliest first, page by page; beginnings of names and all of them, too", () =>
    withService({}, async (running) => {
      const { call } = running
      const day = (n: number) => ({ executeAt: `2031-01-0${n}T00:00:00Z` })
      await create(running, "team-b", "2", day(2))
      await create(running, "team-a", "3", day(3))
      await create(running, "team-a", "1", day(1))
      await create(running, "other", "0", { executeAt: "2030-12-31T00:00:00Z" })
      const teams = ["team-a/1", "team-b/2", "team-a/3"]
      expect(await idsIn(running, { namespaces: ["team-b", "team-a"] })).toEqual(teams)
      expect(await idsIn(running, { namespaces: ["team-*"] })).toEqual(teams)
      expect(await idsIn(running, { namespaces: ["team-*", "team-a"], order: "desc" })).toEqual(
        teams.toReversed(),
      )
      expect(await idsIn(running, { namespaces: ["tea*"], until: "2031-01-02T00:00:00Z" })).toEqual([
        "team-a/1",
      ])
      expect(await idsIn(running, { namespaces: ["*"] })).toEqual(["other/0", ...teams])
      expect(await idsIn(running, { namespaces: ["nobody-*"] })).toEqual([])
      expect(
        succeeded("count", await call("count", { namespaces: ["*"], states: ["pending", "dead"] })),
      ).toEqual({
        count: 4,
        capped: false,
      })
      const { timers, nextCursor } = succeeded("list", await call("list", { namespaces: ["*"], limit: 3 }))
      expect(timers).toHaveLength(3)
      expect(await idsIn(running, { namespaces: ["*"], limit: 3, cursor: nextCursor })).toEqual(["team-a/3"])
      const other = refused(await call("list", { namespaces: ["o*"], cursor: nextCursor }), "invalidRequest")
      expect(pointersOf(other)).toEqual(["/cursor"])
    }))

  test("are listed over states, latest first", () =>
    withService({ deliver }, async (running) => {
      await fire(running, "a", ["gone-1"])
      await fire(running, "b", ["ok-1"])
      await create(running, "a", "later")
      const query = { namespaces: ["a", "b"], states: ["pending", "dead", "delivered"] }
      expect(await idsIn(running, query)).toEqual(["a/later", "b/ok-1", "a/gone-1"])
      expect(await idsIn(running, { ...query, order: "asc" })).toEqual(["a/gone-1", "b/ok-1", "a/later"])
      expect(await idsIn(running, { namespaces: ["*"], states: ["dead"] })).toEqual(["a/gone-1"])
    }))

  test("that a beginning matches are at most a thousand", () =>
    withService({}, async (running) => {
      const { call } = running
      const timers = Array.from({ length: 1_000 }, (_, index) => ({
        namespace: `tenant-${index}`,
        timerId: "t",
        executeAt: "2031-01-01T00:00:00Z",
        callbackUrl: hook,
      }))
      succeeded("createMany", await call("createMany", { timers }))
      expect(
        succeeded("list", await call("list", { namespaces: ["tenant-*"], limit: 7 })).timers,
      ).toHaveLength(7)
      expect(succeeded("count", await call("count", { namespaces: ["*"] })).count).toBe(1_000)
      // A namespace that two entries match counts once.
      const overlapping = { namespaces: ["tenant-*", "tenant-1*", "tenant-2"] }
      expect(succeeded("count", await call("count", overlapping)).count).toBe(1_000)
      await create(running, "zebra", "t")
      // The due times of all namespaces have an index, so that it does not matter how many there are.
      expect(succeeded("count", await call("count", { namespaces: ["*"] })).count).toBe(1_001)
      expect(await idsIn(running, { namespaces: ["*"], limit: 1_000 })).toHaveLength(1_000)
      for (const [name, body] of [
        ["list", { namespaces: ["*"], state: "dead" }],
        ["list", { namespaces: ["*"], idPrefix: "t" }],
        ["count", { namespaces: ["tenant-*", "zeb*"] }],
      ] as const) {
        const problem = refused(await call(name, body), "invalidRequest")
        expect(problem.errors).toEqual([
          {
            pointer: "/namespaces",
            detail: "match more than 1000 namespaces: name them, or use longer prefixes",
          },
        ])
      }
      expect(await idsIn(running, { namespaces: ["zeb*"] })).toEqual(["zebra/t"])
    }))
})

describe("filters without an index", () => {
  test("select by how the last attempt failed, by host, reason and lateness, and say how many were examined", () =>
    withService({ deliver }, async (running) => {
      const { call } = running
      await fire(running, "a", ["ok-1", "slow-1", "away-1", "500-1", "gone-1"])
      const dead = { namespace: "a", state: "dead" }
      for (const [error, id] of [
        ["timeout", "slow-1"],
        ["network", "away-1"],
        ["5xx", "500-1"],
        ["4xx", "gone-1"],
      ] as const)
        expect(await idsIn(running, { ...dead, error })).toEqual([`a/${id}`])
      expect(await idsIn(running, { ...dead, reason: "refused" })).toEqual(["a/gone-1"])
      expect(await idsIn(running, { ...dead, host: "HOOKS.example.com:443" })).toHaveLength(4)
      expect(await idsIn(running, { ...dead, host: "example.com" })).toEqual([])
      const listed = succeeded("list", await call("list", { ...dead, error: "5xx" }))
      expect(listed.examined).toBe(4)
      expect(succeeded("count", await call("count", { ...dead, error: "5xx" }))).toEqual({
        count: 1,
        capped: false,
        examined: 4,
      })
      expect("examined" in succeeded("list", await call("list", dead))).toBe(false)
    }))

  test("cancel, replay and discard what they select, and go on by their cursor", () =>
    withService({ deliver }, async (running) => {
      const { call } = running
      await fire(running, "a", ["500-1", "gone-1", "gone-2"])
      const gone = { namespace: "a", filter: { error: "4xx" } }
      expect(succeeded("replay", await call("replay", { ...gone, dryRun: true }))).toEqual({
        replayed: 2,
        skipped: 0,
        examined: 3,
      })
      expect(succeeded("discard", await call("discard", gone))).toEqual({ discarded: 2, examined: 3 })
      expect(await idsIn(running, { namespace: "a", state: "dead" })).toEqual(["a/500-1"])
      const timers = Array.from({ length: 2_200 }, (_, index) => ({
        namespace: "b",
        timerId: `t${index}`,
        executeAt: "2031-01-01T00:00:00Z",
        callbackUrl: index % 2 === 0 ? hook : "http://other.example.com/",
      }))
      for (const from of [0, 1_000, 2_000])
        await call("createMany", { timers: timers.slice(from, from + 1_000) })
      const host = { namespace: "b", filter: { host: "hooks.example.com" } }
      const { nextCursor: cursor, ...first } = succeeded("deleteMany", await call("deleteMany", host))
      expect(first).toEqual({ cancelled: 1_000, inFlight: 0, examined: 1_999, more: true })
      const wrong = refused(await call("deleteMany", { ...host, cursor: "abc" }), "invalidRequest")
      expect(pointersOf(wrong)).toEqual(["/cursor"])
      expect(succeeded("deleteMany", await call("deleteMany", { ...host, cursor }))).toEqual({
        cancelled: 100,
        inFlight: 0,
        examined: 201,
      })
      expect(await running.pendingIn("b")).toBe(1_100)
    }))

  test("find pending timers that are overdue by a duration, and deliveries that were as late", () =>
    withService({ deliver, clockStartMs: Date.parse("2030-01-01T00:00:00Z") }, async (running) => {
      const { post } = running
      expect((await post("service/pause", {})).status).toBe(200)
      await create(running, "a", "ok-hour", { executeAt: "2030-01-01T01:00:00Z" })
      await create(running, "a", "ok-two", { executeAt: "2030-01-01T02:00:00Z" })
      expect((await post("clock/advance", { by: "2h30m" })).status).toBe(200)
      const overdue = (minLateness: string) => idsIn(running, { namespace: "a", minLateness })
      expect(await overdue("30m")).toEqual(["a/ok-hour", "a/ok-two"])
      expect(await overdue("31m")).toEqual(["a/ok-hour"])
      expect(await overdue("1h30m")).toEqual(["a/ok-hour"])
      expect(await overdue("1h31m")).toEqual([])
      expect((await post("service/resume", {})).status).toBe(200)
      expect((await post("clock/advance", { by: "1s" })).status).toBe(200)
      const late = (minLateness: string) =>
        idsIn(running, { namespace: "a", state: "delivered", minLateness, order: "asc" })
      expect(await late("30m")).toEqual(["a/ok-hour", "a/ok-two"])
      expect(await late("1h")).toEqual(["a/ok-hour"])
      expect(await late("2h")).toEqual([])
    }))
})
