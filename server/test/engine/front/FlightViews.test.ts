// Who is asked what timers do now, and for how long.
import { expect } from "bun:test"
import { Effect, Fiber } from "effect"
import type { Waiting } from "../../../src/domain/Waiting.ts"
import { FlightViews, type FlightViewsParts } from "../../../src/engine/front/FlightViews.ts"
import { type EngineHarness, engineTest } from "../../../testkit/EngineHarness.ts"
import { sampleNow, sampleTimer } from "../../../testkit/timers.ts"

const peerNamed = (node: string) => ({ node, address: `at-${node}` })

const ids = new Map<string, string>()
const idOf = (uuid: string) => ids.get(uuid) ?? ""

const due = (timerId: string, fireAt = sampleNow) => {
  const timer = sampleTimer({ timerId, fireAt })
  ids.set(timer.uuid, timerId)
  return timer
}

const breaker: Waiting = { reason: "breaker", sinceMs: sampleNow, detail: "It failed." }
const paused: Waiting = { reason: "paused", sinceMs: sampleNow, detail: "It is paused." }

/** Timers whose ids begin with m are this node's, those with a and b are of other nodes, all others of nobody. */
const viewsOf = (
  engine: EngineHarness,
  firing: NonNullable<FlightViewsParts["cluster"]>["peers"]["firing"],
): FlightViews =>
  new FlightViews({
    own: {
      // A node that has not read the store yet does not know the shards.
      shardOf: ({ uuid }) => (idOf(uuid) === "unread" ? undefined : idOf(uuid).charCodeAt(0)),
      owns: (shard) => shard === "m".charCodeAt(0),
      inFlightSince: ({ timerId }) => (timerId === "mine" ? 7 : undefined),
    },
    dispatcher: { runningSince: () => new Map([["running", 8]]), hostNameOf: () => "host" },
    reasons: {
      of: ({ uuid }) => (idOf(uuid).startsWith("mW") ? breaker : undefined),
      ofPause: ({ fireAt }) => (fireAt > engine.now() ? undefined : paused),
    },
    wall: { now: () => engine.now() },
    cluster: {
      view: {
        node: "here",
        ownerOf: (shard) => ["a", "b"].map(peerNamed).find(({ node }) => node.charCodeAt(0) === shard),
        refresh: Effect.void,
      },
      peers: { firing },
    },
  })

engineTest(
  "each owner is asked once about possible attempts; of timers of a silent or unknown owner only pauses are known",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const timers = ["mine", "mWaits", "m", "a1", "a2", "a3", "b1", "free", "unread"].map((id) => due(id))
      const later = due("a4", sampleNow + 120_000)
      const asked: Array<unknown> = []
      const views = viewsOf(engine, ({ node, address }, { length }) => {
        asked.push([node, address, length])
        return node === "a" ? Effect.succeed([{}, { inFlightSinceMs: 9 }, { waiting: paused }]) : Effect.never
      })
      const asking = yield* Effect.forkChild(views.statusesOf([...timers, later]))
      yield* engine.advance(300)
      const found = yield* Fiber.join(asking)
      const told = timers.map(({ timerId, fireId }) => {
        const status = found.get(fireId)
        return [timerId, status?.inFlightSinceMs ?? status?.waiting?.reason]
      })
      expect(Object.fromEntries(told)).toEqual({
        ...{ mine: 7, mWaits: "breaker", m: undefined },
        ...{ a1: undefined, a2: 9, a3: "paused", b1: "paused", free: "paused", unread: "paused" },
      })
      expect(found.has(later.fireId)).toBe(false)
      expect(asked).toEqual([
        ["a", "at-a", 3],
        ["b", "at-b", 1],
      ])
    }),
)

engineTest("a timer that was postponed after an attempt shows why it waits", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const views = viewsOf(engine, () => Effect.die("nobody is to be asked"))
    const last = { at: sampleNow - 5_000, durationMs: 10, error: "no answer" }
    const retrying = {
      ...due("mWaits", sampleNow + 300_000),
      attempts: 1,
      attemptLog: [last],
      updatedAt: last.at + last.durationMs,
    }
    expect(yield* views.statusesOf([retrying])).toEqual(new Map())
    const postponed = { ...retrying, updatedAt: sampleNow - 1_000 }
    const found = yield* views.statusesOf([postponed])
    expect(found.get(postponed.fireId)?.waiting?.reason).toBe("breaker")
  }),
)

engineTest("says what runs here and why what is due here waits, as another node asks it", {}, (engine) =>
  Effect.sync(() => {
    const views = viewsOf(engine, () => Effect.die("nobody is to be asked"))
    const asked = (timerId: string, fireId: string) => {
      const timer = due(timerId)
      return { ...timer, fireId, targetType: timer.spec.target.type, host: "host" }
    }
    expect(views.statusesHere([asked("m", "running"), asked("mWaits", "x"), asked("m", "y")])).toEqual([
      { inFlightSinceMs: 8 },
      { waiting: breaker },
      {},
    ])
  }),
)

engineTest("a timer that was armed just now is looked at here, and no other node is asked", {}, (engine) =>
  Effect.sync(() => {
    const views = viewsOf(engine, () => Effect.die("nobody is to be asked"))
    const reasonOf = (timerId: string, fireAt = sampleNow) =>
      views.statusWhenArmed(due(timerId, fireAt)).waiting?.reason
    expect([reasonOf("mWaits"), reasonOf("m")]).toEqual(["breaker", undefined])
    // Of another node's timers a node knows only pauses.
    expect(reasonOf("a1")).toBe("paused")
    expect(reasonOf("a1", sampleNow + 1)).toBeUndefined()
  }),
)

engineTest(
  "a silent owner gets a limited number of questions at once, and is asked again when they are over",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      let asked = 0
      const views = viewsOf(engine, () => {
        asked++
        return Effect.never
      })
      const look = Effect.forkChild(views.statusesOf([due("a1")]))
      for (let round = 1; round <= 2; round++) {
        const looks = yield* Effect.forEach(Array.from({ length: 100 }), () => look)
        yield* engine.still
        expect(asked).toBe(16 * round)
        yield* engine.advance(300)
        for (const found of yield* Fiber.joinAll(looks))
          expect([...found.values()]).toEqual([{ waiting: paused }])
      }
    }),
)
