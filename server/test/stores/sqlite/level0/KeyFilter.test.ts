import { expect, test } from "bun:test"
import type { TimerKey } from "../../../../src/domain/Timer.ts"
import { keyOf } from "../../../../src/domain/TimerKey.ts"
import { bitsOf, KeyFilter } from "../../../../src/stores/sqlite/level0/KeyFilter.ts"

const filterOf = (keys: ReadonlyArray<TimerKey>): KeyFilter => {
  const filter = KeyFilter.for(keys.length)
  for (const key of keys) filter.add(bitsOf(key))
  return filter
}

const keysOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => keyOf("shop", `t-${from + index}`))

test("a filter has every key that it was made of, also after it was stored", () => {
  for (const count of [1, 2, 1_000]) {
    const keys = keysOf(0, count)
    const stored = new KeyFilter(Uint8Array.from(filterOf(keys).bytes))
    expect(keys.filter((key) => !stored.mayHave(bitsOf(key)))).toEqual([])
  }
})

test("a filter has few other keys, and needs 12 bits for each of its own", () => {
  const filter = filterOf(keysOf(0, 1_000))
  const others = keysOf(1_000, 10_000).filter((key) => filter.mayHave(bitsOf(key)))
  expect(others.length).toBeLessThan(100)
  expect(filter.bytes).toHaveLength(1_500)
})

test("a filter of no keys has none", () => {
  expect(keysOf(0, 100).filter((key) => filterOf([]).mayHave(bitsOf(key)))).toEqual([])
})
