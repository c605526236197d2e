// Which nodes are asked whether an attempt runs, and for how long.
import { expect } from "bun:test"
import { Effect, Fiber } from "effect"
import { FlightViews } from "../../../src/engine/front/FlightViews.ts"
import { engineTest } from "../../../testkit/EngineHarness.ts"
import { sampleNow, sampleTimer } from "../../../testkit/timers.ts"

const peerNamed = (node: string) => ({ node, address: `at-${node}` })

const due = (timerId: string) => sampleTimer({ timerId, fireAt: sampleNow })

engineTest(
  "each owner is asked once about possible attempts, and a silent owner is not waited for",
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
            ownerOf: (shard) => ["a", "b"].map(peerNamed).find(({ node }) => node.charCodeAt(0) === shard),
            refresh: Effect.void,
          },
          peers: {
            inFlight: ({ node, address }, fireIds) => {
              asked.push([node, address, fireIds.length])
              return node === "a" ? Effect.succeed([false, true]) : Effect.never
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
        ["a", "at-a", 2],
        ["b", "at-b", 1],
      ])
      expect(views.areHere(["running", "other"])).toEqual([true, false])
    }),
)

engineTest(
  "a silent owner gets a limited number of questions at once, and is asked again when they are over",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      let asked = 0
      const views = new FlightViews({
        own: { shardOf: () => 0, isInFlight: () => false },
        dispatcher: { runningFireIds: () => new Set() },
        wall: { now: () => engine.now() },
        cluster: {
          view: { node: "here", ownerOf: () => peerNamed("a"), refresh: Effect.void },
          peers: {
            inFlight: () => {
              asked++
              return Effect.never
            },
          },
        },
      })
      const look = Effect.forkChild(views.inFlightAmong([due("t")]))
      for (let round = 1; round <= 2; round++) {
        const looks = yield* Effect.forEach(Array.from({ length: 100 }), () => look)
        yield* engine.still
        expect(asked).toBe(16 * round)
        yield* engine.advance(300)
        for (const found of yield* Fiber.joinAll(looks)) expect(found.size).toBe(0)
      }
    }),
)
