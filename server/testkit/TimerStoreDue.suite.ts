// The laws of the TimerStore port about due pages: order, cursors, namespaces, and the limit of bytes.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { beginning, compareDue, endOf } from "../src/domain/DueOrder.ts"
import type { Timer } from "../src/domain/Timer.ts"
import { duePageBytes } from "../src/ports/duePageBytes.ts"
import type { DueQuery } from "../src/ports/TimerStore.ts"
import { at, lawsOf, owned, type StoreFixture } from "./StoreFixture.ts"
import { cancelOf, delivered, outcomeOf, putOf, sampleNow, sampleTimer } from "./timers.ts"

export const timerStoreDueSuite = (fixture: StoreFixture): void => {
  describe("due", () => dueLaws(fixture))
}

const everything = {
  shard: 0,
  exclusiveAfter: beginning,
  inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
  limit: 1_000,
}

/** Many timers with equal times. Only the fireId orders them. */
export const tied = (count: number, namespaces: ReadonlyArray<string> = ["shop"]): ReadonlyArray<Timer> =>
  Array.from({ length: count }, (_, index) =>
    sampleTimer({ namespace: at(namespaces, index % namespaces.length), fireAt: sampleNow + (index % 7) }),
  )

/** A page has this many large timers: with the last of them it reaches the limit of bytes. */
const largeInAPage = 10
const largeBytes = duePageBytes / largeInAPage

const isChosen = (namespace: string, { only, except }: Partial<DueQuery>): boolean =>
  only === undefined ? except?.includes(namespace) !== true : namespace === only

const dueLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law(
    "timers come in (fireAt, fireId) order, and of small timers only the last page is short",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const timers = tied(53)
        yield* write(timers.map((timer) => putOf(timer)))
        const expected = [...timers].sort(compareDue)
        expect((yield* store.due(everything)).timers).toEqual(expected)
        for (const limit of [1, 7, 10, 53, 54]) {
          const read: Array<Timer> = []
          for (let isLast = false; !isLast; ) {
            const exclusiveAfter = read.at(-1) ?? beginning
            const page = yield* store.due({ ...everything, exclusiveAfter, limit })
            read.push(...page.timers)
            isLast = page.isLast
            expect(page.timers.length).toBeLessThanOrEqual(limit)
            if (!isLast) expect(page.timers).toHaveLength(limit)
          }
          expect(read).toEqual(expected)
        }
      }),
    1,
  )

  law(
    "a page of large timers ends with the timer that brings it to the limit of bytes, and is not the last",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const payload = new Uint8Array(largeBytes)
        const large = tied(2 * largeInAPage + 2, ["a", "b"]).map((timer) => ({ ...timer, payload }))
        const small = tied(20, ["c"])
        const timers = [...large, ...small].sort(compareDue)
        for (const timer of timers) yield* write([putOf(timer)])
        for (const choice of [{}, { only: "a" }, { except: ["c"] }, { except: ["a"] }]) {
          const expected = timers.filter(({ namespace }) => isChosen(namespace, choice))
          const read: Array<Timer> = []
          for (let isLast = false; !isLast; ) {
            const page = yield* store.due({
              ...everything,
              ...choice,
              exclusiveAfter: read.at(-1) ?? beginning,
            })
            read.push(...page.timers)
            isLast = page.isLast
            const largeRead = page.timers.filter((timer) => timer.payload !== undefined)
            expect(largeRead.length).toBeLessThanOrEqual(largeInAPage)
            // A page that is not the last is not shorter than its bytes make it.
            if (!isLast) expect(largeRead).toHaveLength(largeInAPage)
          }
          expect(read).toEqual(expected)
        }
        // Heads have no payloads, so that their pages are full.
        expect(yield* store.dueHeads(everything)).toHaveLength(timers.length)
      }),
    1,
  )

  law(
    "long headers of timers count as bytes of a page, too",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const { spec } = sampleTimer()
        const headers = { "x-long": "x".repeat(largeBytes) }
        const timers = tied(largeInAPage + 1).map((timer) => ({
          ...timer,
          spec: { ...spec, target: { ...spec.target, headers } },
        }))
        for (const timer of timers) yield* write([putOf(timer)])
        const { timers: page, isLast } = yield* store.due(everything)
        expect(page).toEqual([...timers].sort(compareDue).slice(0, largeInAPage))
        expect(isLast).toBe(false)
      }),
    1,
  )

  law("the cursor is exclusive, `until` is inclusive, and each shard is read separately", () =>
    Effect.gen(function* () {
      const { store, write, shardOf } = yield* owned
      const timers = tied(60)
      yield* write(timers.map((timer) => putOf(timer)))
      const expected = timers.filter((timer) => shardOf(timer) === 2).sort(compareDue)
      const from = at(expected, 2)
      const until = at(expected, expected.length - 2).fireAt
      const query = { shard: 2, exclusiveAfter: from, inclusiveUntilMs: until, limit: 100 }
      expect((yield* store.due(query)).timers).toEqual(
        expected.slice(3).filter(({ fireAt }) => fireAt <= until),
      )
      const later = (yield* store.due({ ...everything, shard: 2, exclusiveAfter: endOf(sampleNow + 3) }))
        .timers
      expect(later).toEqual(expected.filter(({ fireAt }) => fireAt > sampleNow + 3))
    }),
  )

  law(
    "`only` and `except` choose namespaces and keep order and pages",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const timers = tied(60, ["a", "b", "c", "d"])
        yield* write(timers.map((timer) => putOf(timer)))
        const cases: ReadonlyArray<readonly [Partial<DueQuery>, string]> = [
          [{ only: "b" }, "b"],
          [{ except: ["a", "c"] }, "bd"],
          [{ except: [] }, "abcd"],
          [{ only: "none" }, ""],
          [{ except: ["a", "b", "c", "d"] }, ""],
        ]
        for (const [choice, namespaces] of cases) {
          const expected = timers.filter(({ namespace }) => namespaces.includes(namespace)).sort(compareDue)
          expect((yield* store.due({ ...everything, ...choice })).timers).toEqual(expected)
          expect((yield* store.due({ ...everything, ...choice, limit: 4 })).timers).toEqual(
            expected.slice(0, 4),
          )
          const heads = yield* store.dueHeads({ ...everything, ...choice })
          expect(heads).toEqual(
            expected.map(({ namespace, timerId, uuid, fireId, fireAt }) => ({
              namespace,
              timerId,
              uuid,
              fireId,
              fireAt,
            })),
          )
        }
      }),
    1,
  )

  law(
    "a moved timer is due at its new time, and a cancelled or delivered timer is not due any more",
    () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const [moved, cancelled, ended, kept] = tied(4) as readonly [Timer, Timer, Timer, Timer]
        yield* write([moved, cancelled, ended, kept].map((timer) => putOf(timer)))
        yield* write([
          outcomeOf(moved, { to: "retry", fireAt: sampleNow + 1_000 }),
          cancelOf(cancelled),
          outcomeOf(ended, delivered),
        ])
        const due = (yield* store.due(everything)).timers
        expect(due.map(({ timerId, fireAt }) => [timerId, fireAt])).toEqual([
          [kept.timerId, kept.fireAt],
          [moved.timerId, sampleNow + 1_000],
        ])
      }),
    1,
  )
}
