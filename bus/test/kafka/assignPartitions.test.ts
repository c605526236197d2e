import { expect, test } from "bun:test"
import { assignPartitions } from "../../src/kafka/assignPartitions.ts"

const member = (memberId: string, owned: ReadonlyArray<number> = [], generationId = 1) => ({
  memberId,
  owned,
  generationId,
})

const assigned = (members: ReadonlyArray<ReturnType<typeof member>>, partitions: number) =>
  Object.fromEntries(assignPartitions(members, partitions))

test("the only member gets every partition", () => {
  expect(assigned([member("a")], 3)).toEqual({ a: [0, 1, 2] })
})

test("a partition that moves is given to nobody at first, and the others stay with their member", () => {
  const first = assigned([member("a", [0, 1, 2, 3]), member("b", [], -1)], 4)
  expect(first).toEqual({ a: [0, 1], b: [] })
  // The member has given the others up, and joins again.
  expect(assigned([member("a", first["a"]), member("b", first["b"])], 4)).toEqual({ a: [0, 1], b: [2, 3] })
})

test("the partitions of a member that left go to those with the fewest, and nothing else moves", () => {
  expect(assigned([member("a", [0, 1]), member("c", [4])], 5)).toEqual({ a: [0, 1, 2], c: [3, 4] })
})

test("the newer of two claims counts, and two equal claims count for nobody", () => {
  expect(assigned([member("a", [0], 1), member("b", [0], 2)], 1)).toEqual({ a: [], b: [0] })
  expect(assigned([member("a", [0], 2), member("b", [0], 2)], 1)).toEqual({ a: [0], b: [] })
})

test("members beyond the number of partitions get nothing", () => {
  expect(assigned([member("a"), member("b"), member("c")], 2)).toEqual({ a: [0], b: [1], c: [] })
})
