// Nodes join, leave and die, and the connection of each node to the leases fails in every possible way. No attempt ever
// starts under an epoch that is no longer the shard's. Epochs only grow. After the faults, the shards are balanced,
// nothing is lost, and repeats are bounded.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import fc from "fast-check"
import { keyOf, shardOf } from "../../src/domain/TimerKey.ts"
import { applyTo } from "../../testkit/applyTo.ts"
import {
  delivered,
  type EngineHarness,
  type EngineNode,
  type HarnessOptions,
  runVirtually,
} from "../../testkit/EngineHarness.ts"
import { runsOf, timeLimitMsOf } from "../../testkit/effort.ts"
import type { Gate, StoreMethod } from "../../testkit/StoreFaults.ts"
import { putOf, sampleTimer } from "../../testkit/timers.ts"

const shards = 4
const nodesAtMost = 4
const options: HarnessOptions = { shards, isEmpty: true }

interface Step {
  readonly op:
    | "wait"
    | "start"
    | "kill"
    | "drain"
    | "fail"
    | "failReply"
    | "holdCall"
    | "holdReply"
    | "release"
  readonly method: StoreMethod
  readonly node: number
  readonly ms: number
}

const steps = fc.array(
  fc.record<Step>({
    op: fc.constantFrom<Step["op"]>(
      "wait",
      "wait",
      "wait",
      "start",
      "start",
      "kill",
      "drain",
      "fail",
      "failReply",
      "holdCall",
      "holdReply",
      "release",
    ),
    method: fc.constantFrom<StoreMethod>(
      "renew",
      "renew",
      "claim",
      "owners",
      "members",
      "announce",
      "release",
      "retire",
      "retireSilent",
      "write",
    ),
    node: fc.nat(nodesAtMost - 1),
    ms: fc.integer({ min: 50, max: 7_000 }),
  }),
  { minLength: 5, maxLength: 25 },
)

const timersEachMs = 50

const law = (sequence: ReadonlyArray<Step>) => (engine: EngineHarness) =>
  Effect.gen(function* () {
    const healMs = 30_000
    const overMs = sequence.reduce((sum, { op, ms }) => sum + (op === "wait" ? ms : 0), 0) + healMs
    const count = Math.floor(overMs / timersEachMs)
    for (let index = 0; index < count; index++) {
      const timer = sampleTimer({ timerId: `t${index}`, executeAt: engine.now() + timersEachMs * index })
      applyTo(engine.database, shardOf(timer.uuid, shards), putOf(timer))
    }
    const stale: Array<string> = []
    engine.onFire(({ namespace, timerId, epoch }) => {
      const shard = shardOf(keyOf(namespace, timerId).uuid, shards)
      const current = engine.database.shards[shard]?.epoch
      if (epoch !== current) stale.push(`${timerId} of shard ${shard}: epoch ${epoch} of ${current}`)
      return Effect.succeed(delivered)
    })
    const up = new Map<number, EngineNode>([[0, yield* engine.startNode("node-0")]])
    const gates: Array<Gate> = []
    const ends: Array<() => void> = []
    let kills = 0
    for (const { op, method, node, ms } of sequence) {
      const target = up.get(node)
      if (op === "wait") yield* engine.advance(ms)
      if (op === "start" && target === undefined) up.set(node, yield* engine.startNode(`node-${node}`))
      if (target === undefined) continue
      if (op === "kill" || op === "drain") {
        if (op === "drain") yield* Effect.forkChild(target.engine.drain(2_000))
        if (op === "drain") yield* engine.advance(ms)
        yield* target.kill
        kills++
        up.delete(node)
      }
      if (op === "fail") ends.push(target.faults.fail(method, { times: 1 + (ms % 40) }))
      if (op === "failReply") ends.push(target.faults.failReply(method, { times: 1 + (ms % 3) }))
      if (op === "holdCall") gates.push(target.faults.holdCall(method))
      if (op === "holdReply") gates.push(target.faults.holdReply(method))
      if (op === "release") yield* gates.shift()?.release ?? Effect.void
    }
    for (const end of ends) end()
    for (const gate of gates) yield* gate.release
    if (up.size === 0) up.set(0, yield* engine.startNode("node-0"))
    yield* engine.advance(healMs)
    expect(stale).toEqual([])
    const owners = engine.database.shards.map(({ node }) => node)
    const counts = [...up.values()].map(({ name }) => owners.filter((owner) => owner === name).length)
    expect(counts.reduce((sum, held) => sum + held)).toBe(shards)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
    for (const { engine: node } of up.values())
      expect(node.status()).toMatchObject({ isWaiting: false, stalledLoops: [] })
    expect(engine.database.tally.delivered).toBe(new Set(engine.fires.map(({ timerId }) => timerId)).size)
    expect(engine.database.tally.delivered).toBeGreaterThanOrEqual(count - 2)
    for (const fire of engine.fires) expect(fire.attempt).toBe(1)
    // Each change of owner repeats at most the attempts that were not settled then. Here these are the attempts of one
    // instant.
    const changes = engine.database.shards.reduce((sum, { epoch }) => sum + epoch, 0) + kills
    expect(engine.fires.length - engine.database.tally.delivered).toBeLessThanOrEqual(changes * 100)
  })

test(
  "no fault starts an attempt under an old epoch, and afterwards all is balanced and nothing is lost",
  () =>
    fc.assert(
      fc.asyncProperty(steps, (sequence) => runVirtually(options, law(sequence))),
      { numRuns: runsOf(40) },
    ),
  timeLimitMsOf(60_000),
)
