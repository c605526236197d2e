// What happens to a write that another node must do: every branch, in virtual time, with scripted peers.
import { describe, expect } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import { keyOf } from "../../../src/domain/TimerKey.ts"
import { roomItems } from "../../../src/engine/forwarding/Forwarder.ts"
import { applyTo } from "../../../testkit/applyTo.ts"
import { engineTest } from "../../../testkit/EngineHarness.ts"
import { cancelOf, changeOf, putOf, samplePut, sampleTimer, scheduleOf } from "../../../testkit/timers.ts"
import { allWith, breaking, created, creating, ForwarderRig, refusing, silent } from "../ForwarderRig.ts"

const forwarderTest = (
  title: string,
  body: (rig: ForwarderRig) => Effect.Effect<void, unknown, Scope.Scope>,
) =>
  engineTest(title, { isEmpty: true, shards: 4 }, (harness) =>
    Effect.flatMap(ForwarderRig.make(harness), body),
  )

const notOwner = allWith({ kind: "notOwner" })
const key = (timerId: string) => keyOf("shop", timerId)

describe("a write that its owner answers", () => {
  forwarderTest("gets the owner's answer, of any kind", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", (items) =>
        Effect.succeed(
          items.map((item) =>
            item.kind === "change"
              ? { kind: "answered", answer: { result: "revisionMismatch", revision: 7 } }
              : created(item),
          ),
        ),
      )
      rig.carry(samplePut({ timerId: "1" }))
      rig.carry(changeOf(key("2"), { executeAt: 5 }))
      rig.carry(cancelOf(key("3")))
      rig.carry(scheduleOf(sampleTimer({ timerId: "4" })))
      yield* rig.harness.still
      expect([...rig.answers.keys()].map((name) => rig.told(name))).toEqual([
        "created",
        "revisionMismatch",
        "cancelled",
        "created",
      ])
      expect(rig.calls.map(({ items }) => items.length)).toEqual([4])
      expect(yield* rig.harness.metric("timer_forwarded_requests_total")).toBe(4)
    }),
  )

  forwarderTest("shares a call with writes of its turn; later writes wait while two calls are out", (rig) =>
    Effect.gen(function* () {
      const hold = { isOpen: false }
      rig.peer("a", (items) =>
        Effect.as(Effect.repeat(Effect.sleep(10), { while: () => !hold.isOpen }), items.map(created)),
      )
      for (let index = 0; index < 600; index++) rig.carry(samplePut())
      yield* rig.harness.still
      expect(rig.calls.map(({ items }) => items.length)).toEqual([250, 250])
      for (let index = 0; index < 50; index++) rig.carry(samplePut())
      yield* rig.harness.advance(100)
      expect(rig.calls.length).toBe(2)
      hold.isOpen = true
      yield* rig.harness.advance(100)
      expect(rig.calls.map(({ items }) => items.length)).toEqual([250, 250, 150])
      expect(rig.answers.size).toBe(650)
    }),
  )

  forwarderTest("goes in a call of bounded size, and alone if it is larger than that", (rig) =>
    Effect.gen(function* () {
      const weighing = (bytes: number) => rig.carry(samplePut({ payload: new Uint8Array(bytes) }))
      for (const kibibytes of [100, 100, 100, 300, 25]) weighing(kibibytes * 1024)
      yield* rig.harness.still
      expect(rig.calls.map(({ items }) => items.length)).toEqual([2, 1, 1, 1])
      expect(rig.answers.size).toBe(5)
    }),
  )
})

describe("the writes of a key", () => {
  forwarderTest("go one after the other, in order, and let other keys pass", (rig) =>
    Effect.gen(function* () {
      // The first write is refused twice and repeated. No other write of its key may overtake it.
      let refusals = 2
      rig.peer("a", (items) =>
        Effect.succeed(
          items.map((item) =>
            item.kind === "put" && item.timer.timerId === "k" && refusals-- > 0
              ? { kind: "notOwner" }
              : created(item),
          ),
        ),
      )
      rig.carry(samplePut({ timerId: "k" }))
      rig.carry(changeOf(key("k"), { executeAt: 5 }))
      rig.carry(cancelOf(key("k")))
      rig.carry(samplePut({ timerId: "other" }))
      expect(rig.carrying.holds(key("k").uuid)).toBe(true)
      yield* rig.harness.still
      expect(rig.told("put other")).toBe("created")
      yield* rig.harness.advance(200)
      expect(
        rig.calls.map(({ items }) =>
          items.map((item) => `${item.kind} ${"timer" in item ? item.timer.timerId : item.key.timerId}`),
        ),
      ).toEqual([["put k", "put other"], ["put k"], ["put k"], ["change k"], ["cancel k"]])
      expect(rig.carrying.holds(key("k").uuid)).toBe(false)
    }).pipe(Effect.asVoid),
  )

  forwarderTest("wait for a call that is out, even after its caller's time is over", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", silent)
      rig.carry(samplePut({ timerId: "k" }))
      yield* rig.harness.advance(4_500)
      rig.carry(cancelOf(key("k")))
      yield* rig.harness.advance(600)
      expect(rig.told("put k")).toBe("unknown")
      expect(rig.answeredAtMs.get("put k")).toBe(5_000)
      const callsBefore = rig.calls.length
      const lastCallMs = rig.calls.at(-1)?.atMs ?? 0
      rig.peer("a", creating)
      yield* rig.harness.advance(lastCallMs + 2_000 - rig.elapsedMs() - 1)
      expect(rig.calls.length).toBe(callsBefore)
      yield* rig.harness.advance(1)
      expect(rig.calls.slice(callsBefore).map(({ items }) => items[0]?.kind)).toEqual(["cancel"])
      expect(rig.told("cancel k")).toBe("cancelled")
    }),
  )

  forwarderTest("are limited, and the answer says so", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", silent)
      const told: Array<string> = []
      for (let index = 0; index < 105; index++) {
        rig.carrying.carry(samplePut({ timerId: "k" }), (result) => {
          told.push("_tag" in result ? result._tag : result.result)
        })
      }
      yield* rig.harness.still
      expect(told).toEqual(Array.from({ length: 5 }, () => "TooManyWrites"))
    }),
  )
})

describe("bounds", () => {
  forwarderTest("the writes that wait for a peer are limited in number, separately for each peer", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", silent)
      for (let index = 0; index <= roomItems; index++) rig.carry(samplePut({ timerId: `a${index}` }))
      expect([...rig.answers.keys()]).toEqual([`put a${roomItems}`])
      expect(rig.told(`put a${roomItems}`)).toBe("overloaded")
      rig.owner = "b"
      rig.carry(samplePut({ timerId: "b" }))
      yield* rig.harness.still
      expect(rig.told("put b")).toBe("created")
    }),
  )

  forwarderTest("the writes that wait for a peer are limited in size, and room becomes free again", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", silent)
      const payload = new Uint8Array(1 << 20)
      for (let index = 0; index < 33; index++) rig.carry(samplePut({ timerId: `${index}`, payload }))
      expect([...rig.answers.keys()]).toEqual(["put 32"])
      rig.peer("a", creating)
      yield* rig.harness.advance(8_000)
      rig.carry(samplePut({ timerId: "later", payload }))
      yield* rig.harness.advance(10)
      expect(rig.told("put later")).toBe("created")
    }),
  )
})

describe("a peer that is not the owner", () => {
  forwarderTest("makes the forwarder look at the leases and send the write to the owner", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", notOwner)
      rig.onRefresh = () => {
        rig.owner = "b"
      }
      rig.carry(cancelOf(key("1")))
      yield* rig.harness.still
      expect(rig.calls.map(({ address }) => address)).toEqual(["a"])
      yield* rig.harness.advance(40)
      expect(rig.calls.map(({ address }) => address)).toEqual(["a", "b"])
      expect(rig.told("cancel 1")).toBe("cancelled")
      expect(rig.refreshes).toBe(1)
    }),
  )

  forwarderTest("is asked again after growing pauses until the time is over; nothing was written", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", notOwner)
      rig.carry(samplePut({ timerId: "1" }))
      yield* rig.harness.advance(4_999)
      expect(rig.answers.size).toBe(0)
      yield* rig.harness.advance(1)
      expect(rig.told("put 1")).toBe("nothing written")
      const pauses = rig.calls.map(({ atMs }, index) => atMs - (rig.calls[index - 1]?.atMs ?? 0)).slice(1)
      expect(pauses.slice(0, 5)).toEqual([20, 40, 80, 160, 200])
      expect(Math.max(...pauses)).toBe(200)
      expect(rig.harness.stored("1").pending).toBeUndefined()
    }),
  )

  forwarderTest("a node that becomes the owner in the meantime does the write itself", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", notOwner)
      rig.onRefresh = () => {
        rig.isOwnedHere = true
      }
      let times = 0
      rig.onOwnPut = (item) => (++times < 3 ? { kind: "notOwner" } : created(item))
      rig.carry(samplePut({ timerId: "1" }))
      yield* rig.harness.advance(500)
      expect(rig.told("put 1")).toBe("created")
      expect(rig.ownQueue.length).toBe(3)
      expect(rig.calls.length).toBe(1)
    }),
  )

  forwarderTest("a peer that is overloaded says so", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", allWith({ kind: "overloaded", retryAfterMs: 700 }))
      rig.carry(samplePut({ timerId: "1" }))
      yield* rig.harness.still
      expect(rig.answers.get("put 1")).toMatchObject({ _tag: "TooManyWrites", retryAfterMs: 700 })
    }),
  )
})

describe("an owner that is unreachable", () => {
  forwarderTest("creates are stored without it, and writes that need it are refused", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", refusing)
      rig.carry(samplePut({ timerId: "put" }))
      rig.carry(changeOf(key("change"), { executeAt: 5 }))
      rig.carry(cancelOf(key("cancel")))
      rig.carry(scheduleOf(sampleTimer({ timerId: "schedule" })))
      yield* rig.harness.advance(40)
      expect(
        ["put put", "change change", "cancel cancel", "schedule schedule"].map((name) => rig.told(name)),
      ).toEqual(["created", "nothing written", "nothing written", "nothing written"])
      expect(rig.harness.stored("put").pending).toBeDefined()
      expect(rig.harness.stored("schedule").pending).toBeUndefined()
      expect(rig.harness.database.shards.reduce((sum, { foreign }) => sum + foreign, 0)).toBe(1)
      expect(rig.calls.length).toBe(1)
    }),
  )

  forwarderTest("a new owner is preferred to an insert without an owner", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", refusing)
      rig.onRefresh = () => {
        rig.owner = "b"
      }
      rig.carry(samplePut({ timerId: "1" }))
      yield* rig.harness.advance(40)
      expect(rig.told("put 1")).toBe("created")
      expect(rig.calls.map(({ address }) => address)).toEqual(["a", "b"])
      expect(rig.faults.calls("insertIfAbsent")).toBe(0)
    }),
  )

  forwarderTest("a create whose key is in use is answered only if the owner need not act", (rig) =>
    Effect.gen(function* () {
      const there = sampleTimer({ timerId: "there", executeAt: 9_000 })
      yield* rig.faults.store.insertIfAbsent(0, [putOf(there)])
      rig.peer("a", refusing)
      const told: Array<unknown> = []
      const again = { ...there, fireId: "again" }
      const other = { ...there, fireId: "other", executeAt: 10_000, fireAt: 10_000 }
      for (const put of [
        putOf(again),
        putOf(other),
        putOf(other, "keep"),
        putOf(other, "fail"),
        putOf(there),
      ]) {
        rig.carrying.carry(put, (result) => told.push("_tag" in result ? result : result.result))
        yield* rig.harness.advance(40)
      }
      expect(told).toMatchObject([
        "unchanged",
        { _tag: "NoOwner", mayBeDone: false },
        "unchanged",
        "exists",
        "created",
      ])
      expect(rig.harness.stored("there").pending).toMatchObject({ fireId: there.fireId, executeAt: 9_000 })
    }),
  )

  forwarderTest("a create whose key had an earlier life waits for an owner", (rig) =>
    Effect.gen(function* () {
      const ended = sampleTimer({ timerId: "ended" })
      applyTo(rig.harness.database, 0, putOf(ended))
      applyTo(rig.harness.database, 0, cancelOf(ended))
      rig.peer("a", refusing)
      const told: Array<unknown> = []
      rig.carrying.carry(putOf({ ...ended, fireId: "next" }), (result) => told.push(result))
      yield* rig.harness.advance(40)
      expect(told).toMatchObject([{ _tag: "NoOwner", mayBeDone: false }])
      expect(rig.harness.stored("ended").pending).toBeUndefined()
    }),
  )

  forwarderTest("a store that fails or hangs gets the same create again", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", refusing)
      rig.faults.failReply("insertIfAbsent")
      rig.carry(samplePut({ timerId: "1" }))
      yield* rig.harness.advance(200)
      expect(rig.told("put 1")).toBe("created")
      expect(rig.faults.calls("insertIfAbsent")).toBe(2)
      rig.faults.holdCall("insertIfAbsent")
      rig.carry(samplePut({ timerId: "2" }))
      yield* rig.harness.advance(2_200)
      expect(rig.told("put 2")).toBe("created")
      rig.faults.fail("insertIfAbsent", { times: Number.POSITIVE_INFINITY })
      rig.carry(samplePut({ timerId: "3" }))
      yield* rig.harness.advance(5_000)
      expect(rig.told("put 3")).toBe("unknown")
    }),
  )

  forwarderTest("a store whose adapter dies counts as failed, and later creates are stored", (rig) =>
    Effect.gen(function* () {
      rig.owner = undefined
      rig.insertsBreak = true
      rig.carry(samplePut({ timerId: "1" }))
      yield* rig.harness.advance(1_000)
      rig.insertsBreak = false
      rig.carry(samplePut({ timerId: "2" }))
      yield* rig.harness.advance(1_000)
      expect([rig.told("put 1"), rig.told("put 2")]).toEqual(["created", "created"])
      expect(rig.broken).toEqual([])
    }),
  )
})

describe("a shard without an owner", () => {
  forwarderTest("waits for a new owner as long as a handover takes", (rig) =>
    Effect.gen(function* () {
      rig.owner = undefined
      rig.carry(samplePut({ timerId: "put" }))
      rig.carry(cancelOf(key("cancel")))
      yield* rig.harness.advance(400)
      expect(rig.answers.size).toBe(0)
      rig.owner = "b"
      yield* rig.harness.advance(200)
      expect(rig.calls.map(({ address, items }) => [address, items.length])).toEqual([["b", 2]])
      expect(rig.told("put put")).toBe("created")
      expect(rig.faults.calls("insertIfAbsent")).toBe(0)
    }),
  )

  forwarderTest("accepts only creates if it stays free", (rig) =>
    Effect.gen(function* () {
      rig.owner = undefined
      for (let index = 0; index < 5_000; index++) rig.carry(samplePut({ timerId: `${index}` }))
      rig.carry(cancelOf(key("cancel")))
      yield* rig.harness.advance(499)
      expect(rig.answers.size).toBe(0)
      yield* rig.harness.advance(201)
      expect(rig.answers.size).toBe(5_000)
      expect(rig.told("put 7")).toBe("created")
      // Only an owner can cancel, so a cancel waits longer for one.
      yield* rig.harness.advance(1_799)
      expect(rig.answers.size).toBe(5_000)
      yield* rig.harness.advance(201)
      expect(rig.told("cancel cancel")).toBe("nothing written")
      // As few calls for a shard as the store's largest batch allows.
      expect(rig.faults.calls("insertIfAbsent")).toBe(8)
      expect(rig.harness.stored("99").pending).toBeDefined()
    }),
  )
})

describe("an unknown result", () => {
  for (const [how, peer] of [
    ["a broken connection", breaking],
    ["a time-out", silent],
    ["a shard lost in the middle of it", allWith({ kind: "unknown" })],
    ["an answer that is too short", () => Effect.succeed([])],
    ["an adapter that breaks", () => Effect.die(new Error("broken"))],
  ] as const) {
    forwarderTest(
      `${how} is never followed by an insert, and the same write is repeated until its time is over`,
      (rig) =>
        Effect.gen(function* () {
          rig.peer("a", peer, refusing)
          const put = samplePut({ timerId: "1" })
          rig.carry(put)
          yield* rig.harness.advance(2_100)
          rig.owner = undefined
          yield* rig.harness.advance(1_500)
          rig.owner = "a"
          yield* rig.harness.advance(1_400)
          expect(rig.told("put 1")).toBe("unknown")
          expect(rig.answeredAtMs.get("put 1")).toBe(5_000)
          expect(rig.faults.calls("insertIfAbsent")).toBe(0)
          expect(rig.calls.length).toBeGreaterThan(2)
          const [first, ...repeats] = rig.calls
          expect(first?.items).toEqual([put])
          for (const { items } of repeats) expect(items).toEqual([{ ...put, isRepeat: true }])
        }),
    )
  }

  forwarderTest("is known once the owner answers the repeat", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", breaking, allWith({ kind: "overloaded", retryAfterMs: 1 }), notOwner, creating)
      rig.carry(samplePut({ timerId: "1" }))
      yield* rig.harness.advance(1_000)
      expect(rig.told("put 1")).toBe("created")
      expect(rig.calls.length).toBe(4)
    }),
  )

  forwarderTest("of a write that this node had begun itself is handled the same way", (rig) =>
    Effect.gen(function* () {
      rig.owner = undefined
      const put = samplePut({ timerId: "1" })
      rig.carry(put, { mayBeDone: true })
      yield* rig.harness.advance(5_000)
      expect(rig.told("put 1")).toBe("unknown")
      expect(rig.faults.calls("insertIfAbsent")).toBe(0)
      rig.owner = "a"
      const cancel = cancelOf(key("2"))
      rig.carry(cancel, { mayBeDone: true })
      yield* rig.harness.still
      expect(rig.calls.map(({ items }) => items)).toEqual([[{ ...cancel, isRepeat: true }]])
    }),
  )

  forwarderTest("marks its repeats for any receiver, and a refused write is repeated without a mark", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", notOwner, breaking, notOwner)
      const change = changeOf(key("change"), { executeAt: 5 })
      const schedule = scheduleOf(sampleTimer({ timerId: "schedule" }))
      rig.carry(change)
      rig.carry(schedule)
      rig.onRefresh = () => {
        rig.isOwnedHere = rig.calls.length === 3
      }
      yield* rig.harness.advance(500)
      const marked = { ...change, isRepeat: true } as const
      expect(rig.calls.map(({ items }) => items[0])).toEqual([change, change, marked])
      // The time stamp of a schedule says whether it is still valid.
      expect(rig.calls.map(({ items }) => items[1])).toEqual([schedule, schedule, schedule])
      expect(rig.ownQueue).toEqual([marked, schedule])
    }),
  )

  forwarderTest("stays unknown if the owner cannot know whether the write was done", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", breaking, allWith({ kind: "answered", answer: { result: "unknown" } }))
      rig.carry(samplePut({ timerId: "put" }))
      rig.carry(changeOf(key("change"), { executeAt: 5 }))
      rig.carry(cancelOf(key("cancel")))
      yield* rig.harness.advance(40)
      for (const name of ["put put", "change change", "cancel cancel"]) {
        expect(rig.answers.get(name)).toMatchObject({ _tag: "NoOwner", mayBeDone: true })
      }
      expect(rig.calls.length).toBe(2)
    }),
  )

  forwarderTest("of an insert is repeated with a mark, as an insert and to an owner", (rig) =>
    Effect.gen(function* () {
      rig.peer("a", refusing)
      const put = samplePut({ timerId: "1" })
      rig.faults.failReply("insertIfAbsent")
      // Other writes have replaced the inserted timer and cancelled that one before the insert is repeated.
      rig.onRefresh = () => {
        if (rig.harness.stored("1").pending?.fireId !== put.timer.fireId) return
        applyTo(rig.harness.database, 0, samplePut({ timerId: "1", executeAt: 7 }))
        applyTo(rig.harness.database, 0, cancelOf(key("1")))
      }
      rig.carry(put)
      yield* rig.harness.advance(200)
      expect(rig.faults.calls("insertIfAbsent")).toBe(2)
      expect(rig.answers.get("put 1")).toMatchObject({ _tag: "NoOwner", mayBeDone: true })
      expect(rig.harness.stored("1").pending).toBeUndefined()
      const second = samplePut({ timerId: "2" })
      rig.faults.failReply("insertIfAbsent")
      rig.onRefresh = () => {
        if (rig.faults.calls("insertIfAbsent") === 3) rig.owner = "b"
      }
      rig.carry(second)
      yield* rig.harness.advance(200)
      expect(rig.calls.at(-1)).toMatchObject({ address: "b", items: [{ ...second, isRepeat: true }] })
    }),
  )
})

describe("the end", () => {
  forwarderTest("a broken sender is reported, because that peer would get nothing any more", (rig) =>
    Effect.gen(function* () {
      rig.carrying.carry(samplePut(), () => {
        throw new Error("a bug")
      })
      yield* rig.harness.advance(100)
      expect(rig.broken).toEqual(["the forwarding loop broke: Error: a bug"])
    }),
  )

  engineTest("callers that wait when the node stops are told what is known", { isEmpty: true }, (harness) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const rig = yield* Scope.provide(ForwarderRig.make(harness), scope)
      rig.peer("a", silent)
      rig.carry(samplePut({ timerId: "sent" }))
      yield* harness.still
      rig.peer("b", silent)
      rig.carry(cancelOf(key("sent")))
      yield* Scope.close(scope, Exit.void)
      expect(rig.told("put sent")).toBe("unknown")
      expect(rig.told("cancel sent")).toBe("nothing written")
      rig.carry(cancelOf(key("later")), { mayBeDone: true })
      expect(rig.told("cancel later")).toBe("unknown")
    }),
  )
})
