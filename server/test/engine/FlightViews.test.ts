// Who is asked whether an attempt runs, and for how long.
import { expect } from "bun:test"
import { Effect, Fiber } from "effect"
import { FlightViews } from "../../src/engine/FlightViews.ts"
import { engineTest } from "../../testkit/EngineHarness.ts"
import { sampleNow, sampleTimer } from "../../testkit/timers.ts"

const due = (timerId: string) => sampleTimer({ timerId, fireAt: sampleNow })

engineTest(
  "each owner is asked once, about what may be running, and one that is silent is not waited for",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const timers = [due("mine"), due("a1"), due("a2"), due("b1"), due("free")]
      const later = sampleTimer({ timerId: "a3", fireAt: sampleNow + 120_000 })
      const asked: Array<unknown> = []
      const views = new FlightViews({
        own: {
          shardOf: ({ timerId }) => timerId.charCodeAt(0),
          isInFlight: ({ timerId }) => timerId === "mine",
        },
        dispatcher: { runningFireIds: () => new Set(["running"]) },
        wall: { now: () => engine.now() },
        cluster: {
          view: {
            node: "here",
            ownerAddress: (shard) => ["a", "b"].find((owner) => owner.charCodeAt(0) === shard),
            refresh: Effect.void,
          },
          peers: {
            inFlight: (address, fireIds) => {
              asked.push([address, fireIds.length])
              return address === "a" ? Effect.succeed([false, true]) : Effect.never
            },
          },
        },
      })
      const asking = yield* Effect.forkChild(views.inFlightAmong([...timers, later]))
      yield* engine.advance(300)
      const found = yield* Fiber.join(asking)
      expect(timers.filter(({ fireId }) => found.has(fireId)).map(({ timerId }) => timerId)).toEqual([
        "mine",
        "a2",
      ])
      expect(asked).toEqual([
        ["a", 2],
        ["b", 1],
      ])
      expect(views.areHere(["running", "other"])).toEqual([true, false])
    }),
)
