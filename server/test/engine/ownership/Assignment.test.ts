// The spread of shards over nodes, as properties of any cluster.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type AssignmentInput, assign } from "../../../src/engine/ownership/Assignment.ts"

const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]

/** Any members and any owners: members, nodes that take no part, or none. */
const anyInput: fc.Arbitrary<AssignmentInput> = fc
  .record({
    shards: fc.integer({ min: 1, max: 40 }),
    members: fc.subarray(names, { minLength: 1 }),
    owners: fc.array(fc.option(fc.constantFrom(...names, "gone"), { nil: undefined }), {
      minLength: 40,
      maxLength: 40,
    }),
  })
  .map(({ shards, members, owners }) => ({ shards, members, owners: owners.slice(0, shards) }))

/** A cluster at rest: every shard is at its intended owner. */
const settled: fc.Arbitrary<AssignmentInput> = anyInput.map((input) => ({ ...input, owners: assign(input) }))

const countOf = (intended: ReadonlyArray<string | undefined>, node: string) =>
  intended.filter((one) => one === node).length

/** How many shards leave a node that takes part. */
const moved = ({ members, owners }: AssignmentInput, intended: ReadonlyArray<string | undefined>) =>
  owners.filter((owner, shard) => owner !== undefined && members.includes(owner) && owner !== intended[shard])
    .length

describe("an assignment", () => {
  test("gives every shard to a member, and counts differ by at most one", () =>
    fc.assert(
      fc.property(anyInput, (input) => {
        const intended = assign(input)
        const counts = input.members.map((node) => countOf(intended, node))
        expect(intended).toHaveLength(input.shards)
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(input.shards)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      }),
    ))

  test("is the same on every node, and empty when no node takes part", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const permuted = { ...input, members: [...input.members].reverse() }
        expect(assign(permuted)).toEqual(assign(input))
        const renamed = { ...input, owners: input.owners.map((node) => (node === "gone" ? undefined : node)) }
        expect(assign(renamed)).toEqual(assign(input))
      }),
    )
    expect(assign({ shards: 2, members: [], owners: ["a", undefined] })).toEqual([undefined, undefined])
  })

  test("moves no more shards than any balanced spread must", () =>
    fc.assert(
      fc.property(anyInput, (input) => {
        const held = input.members.map((node) => countOf(input.owners, node))
        const base = Math.floor(input.shards / input.members.length)
        const extra = input.shards - base * input.members.length
        // Nodes that may keep one more shard do so, as many as there are such places.
        const overBase = held.map((count) => Math.max(0, count - base))
        const kept = Math.min(extra, overBase.filter((over) => over > 0).length)
        const fewest = overBase.reduce((sum, over) => sum + over, 0) - kept
        expect(moved(input, assign(input))).toBe(fewest)
      }),
    ))

  test("moves nothing in a cluster at rest", () =>
    fc.assert(fc.property(settled, (input) => expect(assign(input)).toEqual(input.owners))))

  test("moves at most a fair part to a node that joins, and nothing between the others", () =>
    fc.assert(
      fc.property(settled, (input) => {
        const members = [...input.members, "joiner"].sort()
        const intended = assign({ ...input, members })
        expect(moved({ ...input, members }, intended)).toBeLessThanOrEqual(
          Math.ceil(input.shards / members.length),
        )
        for (const [shard, owner] of input.owners.entries())
          expect([owner, "joiner"]).toContain(intended[shard])
      }),
    ))

  test("moves only the shards of a node that leaves", () =>
    fc.assert(
      fc.property(settled, fc.nat(), (input, pick) => {
        fc.pre(input.members.length > 1)
        const leaver = input.members[pick % input.members.length]
        const members = input.members.filter((node) => node !== leaver)
        expect(moved({ ...input, members }, assign({ ...input, members }))).toBe(0)
      }),
    ))

  test("intends the remaining shards for the same nodes after each move", () =>
    fc.assert(
      fc.property(settled, fc.nat(), (input, pick) => {
        const members = [...input.members, "joiner"].sort()
        const intended = assign({ ...input, members })
        const moving = intended.flatMap((node, shard) => (node === input.owners[shard] ? [] : [shard]))
        fc.pre(moving.length > 0)
        const released = moving[pick % moving.length] ?? 0
        const owners = input.owners.map((owner, shard) => (shard === released ? undefined : owner))
        expect(assign({ ...input, members, owners })[released]).toBe("joiner")
      }),
    ))
})
