import { describe, expect, test } from "bun:test"
import { runsOf } from "@punctual/server/testkit/effort"
import fc from "fast-check"
import { TenantCounters } from "../src/TenantCounters.ts"

type Event = "received" | "processed"

const events: ReadonlyArray<Event> = ["received", "processed"]

const shownOf = (counters: TenantCounters<Event>): Map<string, number> =>
  new Map([...counters.samples()].map(({ event, tenant, value }) => [`${event} ${tenant}`, value]))

/** Many tenants, some of them heavy, in bursts. One of them has the same name as the shared label. */
const counted = fc.array(
  fc.record({
    event: fc.constantFrom(...events),
    tenant: fc.oneof(
      fc.nat(3).map((index) => `heavy-${index}`),
      fc.nat(2_000).map((index) => `light-${index}`),
      fc.constant("other"),
    ),
    times: fc.integer({ min: 1, max: 30 }),
  }),
  { maxLength: 1_200, size: "max" },
)

describe("TenantCounters", () => {
  test("shows few labels, loses no count, and no series decreases while it is shown", () => {
    fc.assert(
      fc.property(counted, fc.integer({ min: 1, max: 8 }), (steps, shown) => {
        const counters = new TenantCounters<Event>({ shown })
        const totals = { received: 0, processed: 0 }
        let before = shownOf(counters)
        for (const { event, tenant, times } of steps) {
          for (let time = 0; time < times; time++) counters.count(event, tenant)
          totals[event] += times
          const samples = [...counters.samples()]
          const now = shownOf(counters)
          // No label occurs twice.
          expect(now.size).toBe(samples.length)
          for (const [series, value] of now) expect(value).toBeGreaterThanOrEqual(before.get(series) ?? 0)
          before = now
        }
        for (const event of events) {
          const ofEvent = [...counters.samples()].filter((sample) => sample.event === event)
          expect(ofEvent.length).toBeLessThanOrEqual(shown + 1)
          expect(ofEvent.reduce((sum, { value }) => sum + value, 0)).toBe(totals[event])
          expect(counters.total(event)).toBe(totals[event])
        }
      }),
      { numRuns: runsOf(40) },
    )
  })

  test("a heavy tenant that comes late gets its own series, in any crowd", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 2, max: 10 }), (early, every) => {
        const counters = new TenantCounters<Event>({ shown: 3 })
        for (let time = 0; time < early; time++) {
          for (const tenant of ["a", "b", "c"]) counters.count("received", tenant)
        }
        // Each tenant of the crowd comes only once, and the crowd is far larger than the memory.
        for (let time = 0; time < 5_000; time++) {
          counters.count("received", time % every === 0 ? "late" : `passer-by-${time}`)
        }
        const shown = [...counters.samples()].map(({ tenant }) => tenant)
        expect(shown).toContain("late")
        expect(shown.filter((tenant) => ["a", "b", "c"].includes(tenant)).length).toBe(2)
      }),
      { numRuns: runsOf(30) },
    )
  })

  test("a new tenant starts at 0, and the counts of the replaced one are in other", () => {
    const counters = new TenantCounters<Event>({ shown: 1 })
    for (let time = 0; time < 2; time++) counters.count("received", "first")
    counters.count("processed", "first")
    for (let time = 0; time < 5; time++) counters.count("received", "second")
    // Five is less than twice three.
    expect(shownOf(counters)).toEqual(
      new Map([
        ["received first", 2],
        ["processed first", 1],
        ["received other", 5],
      ]),
    )
    counters.count("received", "second")
    expect(shownOf(counters)).toEqual(
      new Map([
        ["received second", 1],
        ["received other", 7],
        ["processed other", 1],
      ]),
    )
  })

  test("two tenants that are nearly even do not take the place from each other", () => {
    const counters = new TenantCounters<Event>({ shown: 1 })
    for (let time = 0; time < 1_000; time++) {
      counters.count("received", "a")
      counters.count("received", "b")
      counters.count("received", "b")
    }
    const before = shownOf(counters)
    counters.count("received", "a")
    counters.count("received", "b")
    expect([...shownOf(counters).keys()]).toEqual([...before.keys()])
    expect(before.get("received b")).toBeGreaterThan(1_900)
  })

  test("a tenant named like the label of the rest is one of them", () => {
    const counters = new TenantCounters<Event>({ shown: 5 })
    counters.count("received", "other")
    counters.count("received", "a")
    expect(shownOf(counters)).toEqual(
      new Map([
        ["received a", 1],
        ["received other", 1],
      ]),
    )
  })
})
