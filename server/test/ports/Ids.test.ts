// Fresh ids: UUIDs of version 7 that grow in the order in which a process makes them.
import { expect, test } from "bun:test"
import { Effect, type Layer } from "effect"
import { Ids } from "../../src/ports/Ids.ts"

const now = Date.UTC(2026, 0, 1)

const idsMadeAt = (layer: Layer.Layer<Ids>, instants: ReadonlyArray<number>): ReadonlyArray<string> =>
  Effect.runSync(
    Effect.provide(
      Ids.use((ids) => Effect.sync(() => instants.map((instant) => ids.uuidV7(instant)))),
      layer,
    ),
  )

for (const [name, layer] of [
  ["the system's", Ids.system],
  ["those of a seed", Ids.fromRandom],
] as const) {
  // 40,000 in one millisecond, which is more than the lower part of the counter holds.
  const instants = Array.from({ length: 50_000 }, (_, index) => now + Math.floor(index / 40_000))
  const made = idsMadeAt(layer, instants)

  test(`${name}: ids are UUIDs of version 7 that begin with their time`, () => {
    for (const [index, id] of made.entries()) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(Number.parseInt(id.slice(0, 13).replace("-", ""), 16)).toBe(instants[index] ?? Number.NaN)
    }
  })

  test(`${name}: ids grow in the order in which they are made, also within a millisecond`, () => {
    expect(made.toSorted()).toEqual([...made])
    expect(new Set(made).size).toBe(made.length)
  })
}

test("two processes make different ids in the same millisecond", () => {
  const instants = Array.from({ length: 1_000 }, () => now)
  const made = [...idsMadeAt(Ids.system, instants), ...idsMadeAt(Ids.system, instants)]
  expect(new Set(made).size).toBe(2_000)
})
