// The engine on several nodes, in worlds with faults: see docs/simulation.md. `npm run simulate -- --seed N --trace`
// replays a seed that fails.
import { expect, test } from "bun:test"
import { casesOf, simulatedSeeds } from "../../testkit/effort.ts"
import { mutate, sourceOf } from "../../testkit/simulation/mutate.ts"
import { mutations } from "../../testkit/simulation/mutations.ts"
import { simulate } from "../../testkit/simulation/Simulation.ts"

const withinMs = 600_000

test(
  `no promise is broken in any of ${simulatedSeeds} worlds`,
  () => {
    for (let seed = 1; seed <= simulatedSeeds; seed++) {
      const { violations } = simulate(seed)
      expect({ seed, violations }).toEqual({ seed, violations: [] })
    }
  },
  withinMs,
)

test("a seed takes the same steps each time", () => {
  for (const seed of casesOf([7, 12, 51])) {
    const [first, second] = [simulate(seed), simulate(seed, { isTraced: true })]
    expect(first.steps).toBeGreaterThan(1_000)
    expect([second.steps, second.traceHash]).toEqual([first.steps, first.traceHash])
  }
})

test("seeds differ", () => {
  expect(simulate(1).traceHash).not.toBe(simulate(2).traceHash)
})

test("a trace is readable, and made only when asked for", () => {
  expect(simulate(5).trace).toEqual([])
  expect(simulate(5, { isTraced: true }).trace.join("\n")).toContain("claims shard 0, epoch 1")
})

for (const mutation of mutations) {
  test(`${mutation.name} can be removed from the current sources`, () => {
    const source = sourceOf(mutation)
    expect(mutate(source, mutation)).not.toBe(source)
  })
}
