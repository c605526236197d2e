// DynamoDB Local tells no sizes of collections, so the answers here are those that AWS documents.
import { expect, test } from "bun:test"
import { CollectionSizes } from "../src/CollectionSizes.ts"

const answerOf = (shard: number, range: ReadonlyArray<number>) => ({
  ItemCollectionMetrics: {
    timers: [{ ItemCollectionKey: { shard: { N: String(shard) } }, SizeEstimateRangeGB: range }],
  },
})

test("a shard warns once from 5 GB, takes no new timers from 9 GB, and takes them again when it is smaller", () => {
  const sizes = new CollectionSizes()
  expect(sizes.noted("timers", {})).toBeUndefined()
  expect(sizes.noted("timers", answerOf(7, [3, 4]))).toBeUndefined()
  expect(sizes.noted("timers", answerOf(7, [4, 5]))).toContain("Shard 7 has up to 5 GB")
  expect(sizes.noted("timers", answerOf(7, [5, 6]))).toBeUndefined()
  expect(sizes.noted("timers", answerOf(8, [5, 6]))).toContain("Shard 8")
  expect(sizes.whyFull(7)).toBeUndefined()
  sizes.noted("timers", answerOf(7, [8, 9]))
  expect(sizes.whyFull(7)).toContain("takes no new ones")
  expect(sizes.whyFull(8)).toBeUndefined()
  expect(sizes.noted("other", answerOf(8, [9, 10]))).toBeUndefined()
  expect(sizes.whyFull(8)).toBeUndefined()
  sizes.noted("timers", answerOf(7, [3, 4]))
  expect(sizes.whyFull(7)).toBeUndefined()
  expect(sizes.noted("timers", answerOf(7, [5, 6]))).toContain("Shard 7")
})
