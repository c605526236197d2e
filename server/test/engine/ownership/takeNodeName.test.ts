// A process takes the name of a node only if no live process has it. Each process of these tests has its own view of
// one list of members.
import { expect, test } from "bun:test"
import { Context, Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { NodeNameTaken, takeNodeName } from "../../../src/engine/ownership/takeNodeName.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { StoreFaults } from "../../../testkit/StoreFaults.ts"

const leaseMs = 5_000
const lookEveryMs = 250

interface Rig {
  /** The process of the node "west" sends a beat. Answers whether it still has the name. */
  readonly beat: (process: string) => boolean
  readonly owner: () => string | undefined
  readonly newcomer: (process: string) => Effect.Effect<Newcomer, never, Scope.Scope>
  readonly pass: (ms: number) => Effect.Effect<void>
}

interface Newcomer {
  readonly faults: StoreFaults
  /** "waits", "has the name", or why it did not get the name. */
  readonly state: () => string
}

const announcement = (process: string) => ({ node: "west", address: `http://${process}`, isLeaving: false })

const withMembers = (body: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>) =>
  Effect.suspend(() => {
    const database = makeMemoryDatabase({ shards: 1 })
    const { members } = database
    const newcomer = Effect.fnUntraced(function* (process: string) {
      const services = yield* Layer.build(MemoryStore.over(database))
      const faults = new StoreFaults(Context.get(services, TimerStore), {
        ...Context.get(services, ShardLeases),
        announce: (member) => Effect.sync(() => members.announce(member, process)),
        retire: (node) => Effect.sync(() => members.retire(node, process)),
      })
      let state = "waits"
      yield* takeNodeName({ node: "west", address: `http://${process}`, leaseMs }).pipe(
        Effect.match({
          onFailure: (error) => {
            state = error instanceof NodeNameTaken ? error.message : `failed: ${error.message}`
          },
          onSuccess: () => {
            state = "has the name"
          },
        }),
        Effect.provideService(ShardLeases, faults.leases),
        Effect.forkScoped,
      )
      yield* Effect.yieldNow
      return { faults, state: () => state }
    })
    return body({
      beat: (process) => members.announce(announcement(process), process),
      owner: () => members.all().find(({ node }) => node === "west")?.process,
      newcomer,
      pass: (ms) => TestClock.adjust(ms),
    })
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.runPromise)

test("a slow read does not count as silence: a live process keeps its name", () =>
  withMembers(({ beat, owner, newcomer, pass }) =>
    Effect.gen(function* () {
      beat("live")
      const late = yield* newcomer("late")
      // The first read was answered at once. The second one takes longer than the lease time, and the beat that it
      // shows was read at its start.
      const slow = late.faults.holdReply("members")
      yield* pass(lookEveryMs)
      yield* slow.reached
      yield* pass(2 * leaseMs)
      yield* slow.release
      yield* pass(0)
      expect([late.state(), owner()]).toEqual(["waits", "live"])
      expect(beat("live")).toBe(true)
      yield* pass(lookEveryMs)
      expect(late.state()).toContain("Another process at http://live runs as the node west")
      expect(beat("live")).toBe(true)
    }),
  ))

test("a first read that is slow starts the lease time, and does not end it", () =>
  withMembers(({ beat, owner, newcomer, pass }) =>
    Effect.gen(function* () {
      beat("live")
      const early = yield* newcomer("early")
      const slow = early.faults.holdCall("members", { times: Number.POSITIVE_INFINITY })
      yield* pass(lookEveryMs)
      yield* slow.reached
      yield* pass(2 * leaseMs)
      yield* slow.release
      yield* pass(leaseMs / 2)
      expect([early.state(), owner()]).toEqual(["waits", "live"])
      yield* pass(leaseMs)
      expect([early.state(), owner()]).toEqual(["has the name", "early"])
    }),
  ))

test("of two processes that wait for the name of a dead one, one gets it and the other is refused", () =>
  withMembers(({ beat, owner, newcomer, pass }) =>
    Effect.gen(function* () {
      beat("dead")
      const first = yield* newcomer("first")
      yield* pass(30)
      const second = yield* newcomer("second")
      yield* pass(leaseMs + lookEveryMs)
      yield* pass(lookEveryMs)
      expect([first.state(), owner()]).toEqual(["has the name", "first"])
      expect(second.state()).toContain("Another process at http://first runs as the node west")
      expect(beat("first")).toBe(true)
    }),
  ))

test("a process that took the name just before the dead entry is removed keeps it", () =>
  withMembers(({ beat, owner, newcomer, pass }) =>
    Effect.gen(function* () {
      beat("dead")
      const first = yield* newcomer("first")
      const second = yield* newcomer("second")
      const removal = first.faults.holdCall("retireSilent")
      yield* pass(leaseMs)
      yield* removal.reached
      expect([second.state(), owner()]).toEqual(["has the name", "second"])
      yield* removal.release
      yield* pass(0)
      expect(first.state()).toContain("Another process at http://second runs as the node west")
      expect(owner()).toBe("second")
    }),
  ))

test("a process that sends a beat just before its entry is removed keeps its name", () =>
  withMembers(({ beat, owner, newcomer, pass }) =>
    Effect.gen(function* () {
      beat("live")
      const late = yield* newcomer("late")
      const removal = late.faults.holdCall("retireSilent")
      yield* pass(leaseMs)
      yield* removal.reached
      beat("live")
      yield* removal.release
      yield* pass(0)
      expect(late.state()).toContain("Another process at http://live runs as the node west")
      expect(owner()).toBe("live")
    }),
  ))
