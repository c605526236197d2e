// The laws of the TimerStore port that concern filters: lists and counts over several namespaces and states, and filters
// that have no index. What a list shows is compared with a plain filter over everything that was stored.
import { describe, expect, test } from "bun:test"
import { Effect, ManagedRuntime } from "effect"
import fc from "fast-check"
import { compareDue } from "../src/domain/DueOrder.ts"
import type { Timer } from "../src/domain/Timer.ts"
import type { Listed, ListedState, ListQuery } from "../src/ports/TimerStore.ts"
import { runsOf, timeLimitMsOf } from "./effort.ts"
import {
  anyQuery,
  filteredRows,
  isSelected,
  sampleStates,
  sampleWebhook,
  setOf,
  specTo,
} from "./filteredRows.ts"
import { at, idsOf, lawsOf, manyTimersLawsOf, owned, type StoreFixture, walkList } from "./StoreFixture.ts"
import { timerStoreHistogramSuite } from "./TimerStoreHistogram.suite.ts"
import { timerStoreLivesSuite } from "./TimerStoreLives.suite.ts"
import { timerStorePagesSuite } from "./TimerStorePages.suite.ts"
import { cancelOf, outcomeOf, putOf, sampleNow, samplePut, sampleSpec, sampleTimer } from "./timers.ts"

export const timerStoreFiltersSuite = (fixture: StoreFixture): void => {
  describe("filters", () => {
    mergeLaws(fixture)
    boundLaws(fixture)
    anyFilterLaw(fixture)
  })
  timerStorePagesSuite(fixture)
  timerStoreHistogramSuite(fixture)
  timerStoreLivesSuite(fixture)
}

const base: Omit<ListQuery, "namespace" | "state"> = { reversed: false, includePayload: false, limit: 7 }

const rowOf = (listed: Listed) => (listed.state === "pending" ? listed.timer : listed.life)

const timeOf = (listed: Listed): number =>
  listed.state === "pending" ? listed.timer.fireAt : listed.life.finishedAt

const mergeLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("pending timers of several namespaces come earliest first, each once, and backwards", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const names = ["a", "b", "c", "other"]
      const timers = Array.from({ length: 60 }, (_, index) =>
        sampleTimer({ namespace: at(names, index % 4), fireAt: sampleNow + (index % 9) }),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      const query: ListQuery = { ...base, namespace: setOf("a", "b", "c", "none"), state: "pending" }
      const pages = yield* walkList(query)
      const expected = timers.filter(({ namespace }) => namespace !== "other")
      // Of one instant, namespaces come in their order.
      const byPlace = (a: Timer, b: Timer) =>
        a.fireAt - b.fireAt ||
        (a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : compareDue(a, b))
      expect(idsOf(pages)).toEqual([...expected].sort(byPlace).map(({ timerId }) => timerId))
      expect(idsOf(yield* walkList({ ...query, reversed: true }))).toEqual([...idsOf(pages)].reverse())
      expect(yield* store.count({ ...query, limit: 100 })).toEqual({ count: 45, capped: false })
      expect(yield* store.count({ ...query, limit: 44 })).toEqual({ count: 44, capped: true })
    }),
  )

  law("with an id prefix, timers and lives of several namespaces come by id", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const ids = ["x1", "x1\u{10ffff}", "x1a", "x2", "y1"]
      const timers = ["a", "b"].flatMap((namespace) =>
        ids.map((timerId) => sampleTimer({ namespace, timerId, fireAt: sampleNow })),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      yield* write(timers.filter((_, index) => index % 3 === 0).map((timer) => cancelOf(timer)))
      // Each cancelled key lives again, so that it has a timer and a life.
      const again = timers.filter((_, index) => index % 3 === 0)
      yield* write(
        again.map(({ namespace, timerId }) => samplePut({ namespace, timerId, fireAt: sampleNow + 9 })),
      )
      const query: ListQuery = {
        ...base,
        namespace: setOf("b", "a"),
        state: ["cancelled", "pending"],
        idPrefix: "x",
      }
      for (const limit of [1, 3, 20]) {
        const listed = (yield* walkList({ ...query, limit })).flatMap(({ items }) => items)
        const keys = listed.map((one) => `${rowOf(one).timerId} ${rowOf(one).namespace} ${one.state}`)
        expect(new Set(keys).size).toBe(keys.length)
        expect(keys).toHaveLength(8 + 3)
        const inOrder = listed.map((one) => rowOf(one).timerId)
        expect(inOrder.filter((id, index) => id !== inOrder[index - 1])).toEqual([
          "x1",
          "x1a",
          "x1\u{10ffff}",
          "x2",
        ])
        const backwards = (yield* walkList({ ...query, limit, reversed: true })).flatMap(({ items }) => items)
        expect(backwards).toEqual(listed.toReversed())
      }
    }),
  )

  law("what does not change during a walk is shown once, whatever else comes, goes and moves", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const names = ["a", "b", "c"]
      const kept = Array.from({ length: 40 }, (_, index) =>
        sampleTimer({ namespace: at(names, index % 3), fireAt: sampleNow + (index % 5), tags: ["kept"] }),
      )
      const moving = Array.from({ length: 40 }, (_, index) =>
        sampleTimer({ namespace: at(names, index % 3), fireAt: sampleNow + (index % 5) }),
      )
      yield* write([...kept, ...moving].map((timer) => putOf(timer)))
      const ended = kept.filter((_, index) => index % 2 === 0)
      yield* write(ended.map((timer) => cancelOf(timer, { at: timer.fireAt })))
      for (const reversed of [false, true]) {
        const query: ListQuery = {
          ...base,
          namespace: setOf("a", "b", "c", "new"),
          state: ["pending", "cancelled"],
          reversed,
        }
        const pages = yield* walkList(query, (page) =>
          write([
            cancelOf(at(moving, page % 40), { at: sampleNow + (page % 5) }),
            samplePut({ namespace: page % 2 === 0 ? "new" : "b", fireAt: sampleNow + (page % 5) }),
          ]),
        )
        const shown = pages.flatMap(({ items }) => items).filter((one) => rowOf(one).tags?.includes("kept"))
        expect(shown.map((one) => rowOf(one).fireId).sort()).toEqual(kept.map(({ fireId }) => fireId).sort())
      }
    }),
  )

  law("pending timers of all namespaces but reserved ones come earliest first, by the shards", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const names = ["a", "B", "_own", "z-9"]
      const timers = Array.from({ length: 48 }, (_, index) =>
        sampleTimer({
          namespace: at(names, index % 4),
          fireAt: sampleNow + (index % 9),
          ...(index % 3 === 0 ? { spec: specTo({ ...sampleWebhook, url: "http://rare.test/" }) } : {}),
        }),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      const namespace = { asked: ["*"], names: [], shards: 4 }
      const query: ListQuery = { ...base, namespace, state: "pending" }
      const expected = timers.filter((timer) => timer.namespace !== "_own")
      const listed = (yield* walkList(query)).flatMap(({ items }) => items)
      expect(listed.map(timeOf)).toEqual(expected.map(({ fireAt }) => fireAt).sort((a, b) => a - b))
      expect(listed.map((one) => rowOf(one).timerId).sort()).toEqual(
        expected.map(({ timerId }) => timerId).sort(),
      )
      const backwards = (yield* walkList({ ...query, reversed: true })).flatMap(({ items }) => items)
      expect(backwards).toEqual(listed.toReversed())
      const late = {
        ...query,
        inclusiveFromMs: sampleNow + 4,
        exclusiveUntilMs: sampleNow + 6,
        host: "rare.test",
      }
      const rare = (yield* walkList(late)).flatMap(({ items }) => items)
      const isLate = ({ fireAt }: Timer) => fireAt === sampleNow + 4 || fireAt === sampleNow + 5
      expect(rare).toHaveLength(expected.filter((one) => isLate(one) && one.spec !== sampleSpec).length)
      expect(yield* store.count({ namespace, state: "pending", limit: 100 })).toEqual({
        count: 36,
        capped: false,
      })
      expect(yield* store.count({ namespace, state: "pending", limit: 9 })).toEqual({
        count: 9,
        capped: true,
      })
    }),
  )

  law("a cursor belongs to the namespaces and states that were asked for, not to those that there are", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      yield* write(
        Array.from({ length: 9 }, (_, index) => samplePut({ namespace: index % 2 === 0 ? "a1" : "a2" })),
      )
      const query: ListQuery = {
        ...base,
        namespace: { asked: ["a*"], names: ["a1", "a2"] },
        state: "pending",
        limit: 4,
      }
      const { next: cursor = "" } = yield* store.list(query)
      const grown = { ...query, cursor, namespace: { asked: ["a*"], names: ["a1", "a2", "a3"] } }
      expect((yield* store.list({ ...grown, limit: 100 })).items).toHaveLength(5)
      const parts = JSON.parse(Buffer.from(cursor, "base64url").toString()) as ReadonlyArray<unknown>
      const forged = (...changed: ReadonlyArray<unknown>) =>
        Buffer.from(JSON.stringify([parts[0], ...changed, ...parts.slice(1 + changed.length)])).toString(
          "base64url",
        )
      const refused: ReadonlyArray<ListQuery> = [
        { ...query, cursor, namespace: { asked: ["a1", "a2"], names: ["a1", "a2"] } },
        { ...query, cursor, state: ["pending", "dead"] },
        { ...query, cursor, host: "example.test" },
        { ...query, cursor, minLateness: { ms: 1, nowMs: sampleNow } },
        { ...query, cursor: forged(7) },
        { ...query, cursor: forged("a\0") },
        { ...query, cursor: forged("a1", "dead") },
        { ...query, cursor: forged("a1", "pending", "soon") },
      ]
      for (const one of refused) expect((yield* Effect.flip(store.list(one)))._tag).toBe("InvalidCursor")
    }),
  )
}

const boundLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a reason selects dead letters and cancelled timers, each in its state", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timers = ["dead", "dropped", "other", "called"].map((timerId) =>
        sampleTimer({ namespace: "a", timerId }),
      )
      yield* write(timers.map((timer) => putOf(timer)))
      yield* write([
        outcomeOf(at(timers, 0), { to: "dead", reason: "expired" }, { at: sampleNow + 2 }),
        outcomeOf(at(timers, 1), { to: "dropped", reason: "expired" }, { at: sampleNow + 1 }),
        outcomeOf(at(timers, 2), { to: "dropped", reason: "notDead" }),
        cancelOf(at(timers, 3)),
      ])
      for (const [state, ids] of [
        ["dead", ["dead"]],
        ["cancelled", ["dropped"]],
        [sampleStates, ["dead", "dropped"]],
        ["delivered", []],
      ] as const) {
        const query: ListQuery = { ...base, namespace: "a", state, reason: "expired" }
        expect(idsOf(yield* walkList(query))).toEqual([...ids])
        expect(yield* store.count(query)).toMatchObject({ count: ids.length, capped: false })
      }
    }),
  )

  law("a page of many namespaces is full, and in order", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const names = Array.from({ length: 300 }, (_, index) => `tenant-${String(index).padStart(3, "0")}`)
      yield* write(
        names.map((namespace, index) =>
          samplePut({ namespace, timerId: `t${index}`, fireAt: sampleNow + ((index * 7) % 300) }),
        ),
      )
      const query: ListQuery = { ...base, namespace: setOf(...names), state: ["pending"], limit: 50 }
      const pages = yield* walkList(query)
      expect(pages.map(({ items }) => items.length)).toEqual([50, 50, 50, 50, 50, 50])
      const times = pages.flatMap(({ items }) => items.map(timeOf))
      expect(times).toEqual(Array.from({ length: 300 }, (_, index) => sampleNow + index))
      expect(yield* store.count({ ...query, limit: 1_000 })).toEqual({ count: 300, capped: false })
    }),
  )

  manyTimersLawsOf(fixture)(
    "a filter without an index examines at most 10,000 rows a call, and goes on by its cursor",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const rare = specTo({ ...sampleWebhook, url: "https://rare.test/hook" })
        for (let from = 0; from < 10_020; from += 501) {
          const timers = Array.from({ length: 501 }, (_, index) =>
            sampleTimer({
              timerId: `t${from + index}`,
              fireAt: sampleNow + from + index,
              ...(from + index === 10_010 ? { spec: rare } : {}),
            }),
          )
          yield* write(timers.map((timer) => putOf(timer)))
        }
        const query: ListQuery = { ...base, namespace: "shop", state: "pending", host: "rare.test" }
        const { next: cursor = "", ...first } = yield* store.list(query)
        expect(first).toEqual({ items: [], examined: 10_000 })
        const second = yield* store.list({ ...query, cursor })
        expect(idsOf([second])).toEqual(["t10010"])
        expect(second.examined).toBe(20)
        expect(second.next).toBeUndefined()
        const { namespace, state, host } = { ...query, host: "rare.test" }
        expect(yield* store.count({ namespace, state, host, limit: 100 })).toEqual({
          count: 0,
          capped: true,
          examined: 10_000,
        })
        const late = { namespace, state, host, inclusiveFromMs: sampleNow + 20 }
        expect(yield* store.count({ ...late, limit: 100 })).toEqual({
          count: 1,
          capped: false,
          examined: 10_000,
        })
      }),
  )
}

const anyFilterLaw = (fixture: StoreFixture): void => {
  test(
    "any list shows what a plain filter selects, in order, forwards and backwards, and a count agrees",
    async () => {
      const runtime = ManagedRuntime.make(fixture.fresh({ shards: 4 }))
      try {
        const { store, write } = await runtime.runPromise(owned)
        const { puts, ends, stored } = filteredRows()
        await runtime.runPromise(write(puts))
        await runtime.runPromise(write(ends))
        await fc.assert(
          fc.asyncProperty(anyQuery, async (query) => {
            const { namespace, state } = query
            const names = typeof namespace === "string" ? [namespace] : namespace.names
            const states: ReadonlyArray<ListedState> = typeof state === "string" ? [state] : state
            const expected = stored.filter(
              (one) => names.includes(one.namespace) && states.includes(one.state) && isSelected(one, query),
            )
            const lists = [false, true].map((reversed) =>
              runtime.runPromise(walkList({ ...query, reversed, includePayload: false })),
            )
            const [forwards = [], backwards = []] = (await Promise.all(lists)).map((pages) =>
              pages.flatMap(({ items }) => items),
            )
            const found = forwards.map((one) => `${one.state} ${rowOf(one).fireId}`)
            expect([...found].sort()).toEqual(expected.map((one) => `${one.state} ${one.fireId}`).sort())
            expect(backwards).toEqual(forwards.toReversed())
            if (query.idPrefix === undefined) {
              const isUp = states.every((one) => one === "pending")
              const times = forwards.map(timeOf)
              expect(times).toEqual([...times].sort((a, b) => (isUp ? a - b : b - a)))
            } else {
              const ids = forwards.map((one) => rowOf(one).timerId)
              expect(ids).toEqual([...ids].sort())
            }
            const counted = await runtime.runPromise(store.count({ ...query, limit: 1_000 }))
            expect(counted).toMatchObject({ count: expected.length, capped: false })
          }),
          { numRuns: runsOf(300) },
        )
      } finally {
        await runtime.dispose()
      }
    },
    timeLimitMsOf(60_000),
  )
}
