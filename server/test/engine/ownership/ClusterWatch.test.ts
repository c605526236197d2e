// Which nodes live, by the received reads and the time of their receipt.
import { describe, expect, test } from "bun:test"
import { ClusterWatch, nanosOf } from "../../../src/engine/ownership/ClusterWatch.ts"
import type { Lease, Member } from "../../../src/ports/ShardLeases.ts"

const leaseMs = 5_000
const newWatch = () => new ClusterWatch({ node: "me", leaseMs })
const lease = (counter: number, epoch = 1, node: string | undefined = "other"): ReadonlyArray<Lease> => [
  { shard: 0, epoch, counter, foreign: 0, ...(node === undefined ? {} : { node }) },
]
const member = (beat: number, isLeaving = false, process = "p"): ReadonlyArray<Member> => [
  { node: "me", address: "me:1", beat: beat * 7, process: "me", isLeaving: false },
  { node: "other", address: "other:1", beat, process, isLeaving },
]
/** Looks often enough between the two instants, both included, that the whole time counts. */
const lookingOn = (fromMs: number, toMs: number, look: (seenNanos: bigint) => void): void => {
  for (let atMs = fromMs; atMs < toMs; atMs += 250) look(nanosOf(atMs))
  look(nanosOf(toMs))
}
const othersOf = (watch: ClusterWatch) => watch.others.map(({ node }) => node)

describe("a member that does not sign its calls", () => {
  test("is remembered with the time when it was last seen", () => {
    const watch = newWatch()
    watch.noteMembers(member(1), nanosOf(1_000))
    expect(watch.unsignedSeenNanos).toBeUndefined()
    const old = member(2).map((it) => (it.node === "other" ? { ...it, lacksSignatures: true as const } : it))
    for (const atMs of [2_000, 3_000]) watch.noteMembers(old, nanosOf(atMs))
    expect(watch.memberOf("other")?.lacksSignatures).toBe(true)
    watch.noteMembers(member(3), nanosOf(4_000))
    expect(watch.unsignedSeenNanos).toBe(nanosOf(3_000))
    expect(watch.memberOf("other")?.lacksSignatures).toBeUndefined()
  })
})

describe("a lease", () => {
  test("is silent once its counter has not changed for the lease time, and not before", () => {
    const watch = newWatch()
    watch.noteLeases(lease(7), nanosOf(1_000))
    expect(watch.liveOwnerOf(0)).toBe("other")
    lookingOn(1_000, 1_000 + leaseMs - 1, (seenNanos) => watch.noteLeases(lease(7), seenNanos))
    expect([watch.isSilent(0), watch.liveOwnerOf(0)]).toEqual([false, "other"])
    watch.noteLeases(lease(7), nanosOf(1_000 + leaseMs))
    expect([watch.isSilent(0), watch.liveOwnerOf(0)]).toEqual([true, undefined])
  })

  test("does not become silent while this node cannot look, and that time counts little", () => {
    const watch = newWatch()
    watch.noteLeases(lease(7), 0n)
    watch.noteMembers(member(7), 0n)
    // The store was unreachable for an hour, so no node could raise a counter.
    watch.noteLeases(lease(7), nanosOf(3_600_000))
    watch.noteMembers(member(7), nanosOf(3_600_000))
    expect([watch.liveOwnerOf(0), othersOf(watch)]).toEqual(["other", ["other"]])
    lookingOn(3_600_000, 3_600_000 + leaseMs, (seenNanos) => {
      watch.noteLeases(lease(7), seenNanos)
      watch.noteMembers(member(7), seenNanos)
    })
    expect([watch.isSilent(0), othersOf(watch)]).toEqual([true, []])
  })

  test("becomes silent also if looks are slow", () => {
    const watch = newWatch()
    for (let look = 0; look < 5; look++) watch.noteLeases(lease(7), nanosOf(look * 3_000))
    expect(watch.isSilent(0)).toBe(false)
    watch.noteLeases(lease(7), nanosOf(15_000))
    expect(watch.isSilent(0)).toBe(true)
  })

  test("lives again when its counter or its epoch changes", () => {
    for (const moved of [lease(8), lease(7, 2)]) {
      const watch = newWatch()
      watch.noteLeases(lease(7), 0n)
      watch.noteLeases(moved, nanosOf(leaseMs + 1))
      expect(watch.isSilent(0)).toBe(false)
    }
  })

  test("that is free has no owner", () => {
    const watch = newWatch()
    watch.noteLeases(
      lease(7, 1, undefined).map(({ node: _, ...free }) => free),
      0n,
    )
    expect(watch.liveOwnerOf(0)).toBeUndefined()
  })
})

describe("a member", () => {
  test("from before this node takes part from the start, until it is silent for the lease time", () => {
    const watch = newWatch()
    watch.noteMembers(member(3), 0n)
    expect(othersOf(watch)).toEqual(["other"])
    // It gets nothing before it was seen to beat.
    expect(watch.mayBeGiven("other")).toBe(false)
    lookingOn(0, leaseMs - 1, (seenNanos) => watch.noteMembers(member(3), seenNanos))
    expect(othersOf(watch)).toEqual(["other"])
    watch.noteMembers(member(3), nanosOf(leaseMs))
    expect(othersOf(watch)).toEqual([])
  })

  test("that comes later takes part from its second beat on", () => {
    const watch = newWatch()
    watch.noteMembers(member(0).slice(0, 1), 0n)
    watch.noteMembers(member(1), nanosOf(100))
    watch.noteMembers(member(1), nanosOf(1_000))
    expect([othersOf(watch), watch.mayBeGiven("other")]).toEqual([[], false])
    watch.noteMembers(member(2), nanosOf(1_100))
    expect([othersOf(watch), watch.mayBeGiven("other")]).toEqual([["other"], true])
  })

  test("that was silent counts as new, even if it was there first", () => {
    const watch = newWatch()
    watch.noteMembers(member(1), 0n)
    lookingOn(1_000, 1_000 + leaseMs, (seenNanos) => watch.noteMembers(member(2), seenNanos))
    expect(othersOf(watch)).toEqual([])
    watch.noteMembers(member(3), nanosOf(20_000))
    expect([othersOf(watch), watch.mayBeGiven("other")]).toEqual([[], false])
    watch.noteMembers(member(4), nanosOf(21_000))
    expect([othersOf(watch), watch.mayBeGiven("other")]).toEqual([["other"], true])
  })

  test("is alive if a new process has taken its name, even with the same beat", () => {
    const watch = newWatch()
    lookingOn(0, leaseMs, (seenNanos) => watch.noteMembers(member(1), seenNanos))
    expect(watch.memberOf("other")?.isLive).toBe(false)
    watch.noteMembers(member(1, false, "q"), nanosOf(leaseMs + 250))
    expect(watch.memberOf("other")?.isLive).toBe(true)
  })

  test("that leaves takes no part, and gets nothing", () => {
    const watch = newWatch()
    watch.noteMembers(member(1), 0n)
    watch.noteMembers(member(2, true), nanosOf(1_000))
    expect([othersOf(watch), watch.mayBeGiven("other")]).toEqual([[], false])
    expect(watch.memberOf("other")?.address).toBe("other:1")
  })

  test("is long silent only by this node's clock, and this node itself never is", () => {
    const watch = newWatch()
    watch.noteMembers(member(1), 0n)
    expect(watch.silentFor(60_000, nanosOf(59_999))).toEqual([])
    expect(watch.silentFor(60_000, nanosOf(60_000))).toMatchObject([{ node: "other" }])
  })
})
