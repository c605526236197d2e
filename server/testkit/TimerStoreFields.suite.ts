// The law about fields: on every way through a store, a timer keeps every field of the tables in domain/timerFields.ts.
// For speed, stores name base fields one by one in some places. This suite notices a missing one.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { beginning } from "../src/domain/DueOrder.ts"
import { withoutPayload } from "../src/domain/endOfLife.ts"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import type { WriteItem } from "../src/domain/WriteItem.ts"
import { at, lawsOf, owned, type StoreFixture, timerIn } from "./StoreFixture.ts"
import {
  allAdded,
  cancelOf,
  changeOf,
  delivered,
  fullLife,
  fullTimer,
  outcomeOf,
  putOf,
  replayOf,
  sampleNow,
  sampleTimer,
} from "./timers.ts"

export const timerStoreFieldsSuite = (fixture: StoreFixture): void => {
  describe("fields", () => {
    const law = lawsOf(fixture)

    law(
      "due pages, finds and lists return a timer with every field",
      () =>
        Effect.gen(function* () {
          const { store, write } = yield* owned
          const timer = fullTimer("full")
          yield* write([restored(timer)])
          expect((yield* store.find(timer)).pending).toEqual(timer)
          expect((yield* store.due({ ...everything, inclusiveUntilMs: timer.fireAt })).timers).toEqual([
            timer,
          ])
          expect((yield* store.due({ ...everything, only: "shop" })).timers).toEqual([timer])
          const { items } = yield* store.list({ ...listed, state: "pending" })
          expect(items).toEqual([{ state: "pending", timer }])
        }),
      1,
    )

    law("finds and lists return a life with every field", () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const dead = fullLife("full")
        const ended: FinishedLife = { ...withoutPayload(fullLife("ended")), state: "cancelled" }
        yield* write([restoredLife(dead), restoredLife(ended)])
        expect((yield* store.find(dead)).last).toEqual(dead)
        expect((yield* store.find(ended)).last).toEqual(ended)
        const { items } = yield* store.list({ ...listed, state: "dead" })
        expect(items).toEqual([{ state: "dead", life: dead }])
      }),
    )

    law("creates, retries, re-armings, ends and replays keep added fields", () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const added = allAdded()
        const [retried, rearmed, cancelled, dead, plain] = ["a", "b", "c", "d", "e"].map((timerId) =>
          sampleTimer({ timerId, ...(timerId === "e" ? {} : added) }),
        ) as [Timer, Timer, Timer, Timer, Timer]
        yield* write([retried, rearmed, cancelled, dead, plain].map((timer) => putOf(timer)))
        for (const timer of [retried, plain]) expect((yield* store.find(timer)).pending).toEqual(timer)
        const next = { fireId: sampleTimer().fireId, executeAt: sampleNow + 9, latenessMs: 0 }
        const answers = yield* write([
          outcomeOf(retried, { to: "retry", fireAt: sampleNow + 5 }),
          outcomeOf(rearmed, { to: "rearmed", ...next }),
          cancelOf(cancelled),
          outcomeOf(dead, { to: "dead", reason: "refused" }),
        ])
        for (const index of [0, 1]) expect(timerIn(at(answers, index))).toMatchObject(added)
        for (const timer of [retried, rearmed]) {
          expect((yield* store.find(timer)).pending).toMatchObject(added)
        }
        for (const timer of [rearmed, cancelled, dead]) {
          expect((yield* store.find(timer)).last).toMatchObject(added)
        }
        const [replayed] = yield* write([replayOf(dead)])
        expect(timerIn(replayed)).toMatchObject(added)
        expect((yield* store.find(dead)).pending).toMatchObject(added)
        yield* write([outcomeOf(timerIn(at(answers, 0)), delivered)])
        expect((yield* store.find(retried)).last).toMatchObject(added)
      }),
    )

    law("an update keeps added fields that it does not name, sets the others, and clears them by null", () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const added = allAdded()
        const timer = sampleTimer({ timerId: "changed" })
        yield* write([putOf(timer), changeOf(timer, added)])
        expect((yield* store.find(timer)).pending).toMatchObject(added)
        yield* write([changeOf(timer, { executeAt: sampleNow + 7 })])
        expect((yield* store.find(timer)).pending).toMatchObject(added)
        yield* write([changeOf(timer, Object.fromEntries(Object.keys(added).map((name) => [name, null])))])
        const { pending } = yield* store.find(timer)
        for (const name of Object.keys(added)) expect(pending).not.toHaveProperty(name)
      }),
    )
  })
}

const everything = {
  shard: 0,
  exclusiveAfter: beginning,
  inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
  limit: 10,
}

const listed = { namespace: "shop", reversed: false, includePayload: true, limit: 10 } as const

const restored = (timer: Timer): WriteItem => ({ kind: "restore", archived: { kind: "pending", timer } })

const restoredLife = (life: FinishedLife): WriteItem => ({
  kind: "restore",
  archived: { kind: "ended", life },
})
