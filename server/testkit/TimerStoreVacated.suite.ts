// The law of the TimerStore port about the places of pending rows: an answered batch tells which places its items vacated.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { at, lawsOf, owned, type StoreFixture } from "./StoreFixture.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  outcomeOf,
  putOf,
  sampleNow,
  samplePut,
  sampleTimer,
  scheduleOf,
} from "./timers.ts"

export const timerStoreVacatedSuite = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  describe("vacated places", () => {
    law(
      "of rows that items replace, move or remove are told, and no others",
      () =>
        Effect.gen(function* () {
          const { store, batchOf } = yield* owned
          const timers = ["replaced", "changed", "moved", "cancelled", "unscheduled", "ended", "kept"].map(
            (timerId, index) => sampleTimer({ timerId, fireAt: sampleNow + 1_000 + index }),
          )
          const placeOf = (index: number) => {
            const { fireAt, fireId } = at(timers, index)
            return { fireAt, fireId }
          }
          const later = (timerId: string) =>
            sampleTimer({ timerId, createdAt: sampleNow + 1, fireAt: sampleNow + 9_000 })
          const created = yield* store.write([
            batchOf(
              0,
              timers.map((timer) => putOf(timer)),
            ),
          ])
          expect(created[0]).not.toHaveProperty("vacated")
          const items = [
            samplePut({ timerId: "new" }),
            putOf(later("replaced")),
            changeOf(at(timers, 1), { executeAt: sampleNow + 9_000 }),
            scheduleOf(later("moved")),
            cancelOf(at(timers, 3)),
            scheduleOf(later("unscheduled"), { cancels: true }),
            outcomeOf(at(timers, 5), delivered),
            putOf(later("kept"), "keep"),
            cancelOf(sampleTimer({ timerId: "unknown" })),
          ]
          const [answer] = yield* store.write([batchOf(0, items)])
          if (answer?.result !== "written") throw new Error("the batch was not written")
          expect(answer.answers.map(({ result }) => result)).toEqual([
            "created",
            "replaced",
            "changed",
            "moved",
            "cancelled",
            "cancelled",
            "settled",
            "unchanged",
            "notFound",
          ])
          expect([...(answer.vacated ?? [])].sort(([a], [b]) => a - b)).toEqual(
            [0, 1, 2, 3, 4].map((index) => [index + 1, placeOf(index)]),
          )
        }),
      1,
    )
  })
}
