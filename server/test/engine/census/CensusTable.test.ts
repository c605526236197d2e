// The counts of a pass, compared with a plain count, while writes come at every moment of the pass.
import { expect, test } from "bun:test"
import fc from "fast-check"
import { compareDue, isBefore } from "../../../src/domain/DueOrder.ts"
import type { TimerHead } from "../../../src/domain/Timer.ts"
import { keyOf, shardOf } from "../../../src/domain/TimerKey.ts"
import { CensusTable } from "../../../src/engine/census/CensusTable.ts"
import { runsOf } from "../../../testkit/effort.ts"
import { at } from "../../../testkit/StoreFixture.ts"
import { sampleId } from "../../../testkit/timers.ts"

const hour = 3_600_000
const begin = 1_000_000 * hour
const hours = 12
const shards = 3
const held = Array.from({ length: shards }, (_, shard) => ({ shard, epoch: 1 }))
const keys = Array.from({ length: 30 }, (_, index) =>
  keyOf(index % 4 === 0 ? "_own" : `n${index % 3}`, `t${index}`),
)

/** Pending timers, as a store has them. */
class Pending {
  readonly #byKey = new Map<string, TimerHead>()

  /** Sets or removes the timer of a key, and returns what moved. */
  set(key: number, hoursAhead: number | undefined) {
    const { namespace, timerId, uuid } = at(keys, key)
    const from = this.#byKey.get(uuid)
    const to =
      hoursAhead === undefined
        ? undefined
        : { namespace, timerId, uuid, fireAt: begin + hoursAhead * hour, fireId: sampleId() }
    if (to === undefined) this.#byKey.delete(uuid)
    else this.#byKey.set(uuid, to)
    const move = { namespace, uuid, ...(from && { from }), ...(to && { to }) }
    return { shard: shardOf(uuid, shards), move: from === undefined && to === undefined ? undefined : move }
  }

  page(shard: number, after: TimerHead | { fireAt: number; fireId: string }, limit: number) {
    return [...this.#byKey.values()]
      .filter((head) => shardOf(head.uuid, shards) === shard && isBefore(after, head))
      .sort(compareDue)
      .slice(0, limit)
  }

  counts(): ReadonlyArray<number> {
    const counts = new Array<number>(hours).fill(0)
    for (const { namespace, fireAt } of this.#byKey.values()) {
      const index = (fireAt - begin) / hour
      if (!namespace.startsWith("_")) counts[index] = (counts[index] ?? 0) + 1
    }
    return counts
  }
}

const countsOf = ({ cells }: CensusTable): ReadonlyArray<number> => {
  const counted = cells
    .countsIn({ from: begin, until: begin + hours * hour, buckets: hours }, undefined, 1)
    .next()
  return counted.done === true ? counted.value.counts : []
}

const write = fc.record({
  key: fc.nat(keys.length - 1),
  hoursAhead: fc.option(fc.nat(hours - 1), { nil: undefined }),
})
const writes = fc.array(write, { maxLength: 8 })
/** One step of the pass: writes before the page is read, while it is on its way, and whether the read fails. */
const step = fc.record({ before: writes, afterSnapshot: writes, fails: fc.boolean() })

test("after a pass the counts are those of a plain count, whatever was written during the pass and after it", () => {
  fc.assert(
    fc.property(
      fc.array(write, { maxLength: 60 }),
      fc.array(step, { maxLength: 40 }),
      writes,
      fc.integer({ min: 1, max: 6 }),
      (first, steps, last, limit) => {
        const pending = new Pending()
        for (const { key, hoursAhead } of first) pending.set(key, hoursAhead)
        const table = new CensusTable(held, 0, 10_000)
        const note = ({
          key,
          hoursAhead,
        }: {
          readonly key: number
          readonly hoursAhead: number | undefined
        }) => {
          const { shard, move } = pending.set(key, hoursAhead)
          if (move !== undefined) table.note({ shard, epoch: 1 }, move)
        }
        for (let turn = 0; ; turn++) {
          const { before, afterSnapshot, fails } = steps[turn] ?? {
            before: [],
            afterSnapshot: [],
            fails: false,
          }
          const asked = table.beginPage()
          if (asked === undefined) break
          before.forEach(note)
          const page = pending.page(asked.shard, asked.exclusiveAfter, limit)
          afterSnapshot.forEach(note)
          if (fails) table.abandonPage()
          else table.finishPage(page, page.length < limit)
          const reached = table.completeUntilMs
          const complete = pending.counts().filter((_, index) => begin + (index + 1) * hour <= reached)
          expect(countsOf(table).slice(0, complete.length)).toEqual(complete)
        }
        expect(table.completeUntilMs).toBe(Number.POSITIVE_INFINITY)
        last.forEach(note)
        expect(countsOf(table)).toEqual([...pending.counts()])
      },
    ),
    { numRuns: runsOf(400) },
  )
})

test("writes under another epoch change nothing, and lost or new shards change the scale", () => {
  const pending = new Pending()
  for (let key = 1; key < keys.length; key++) if (key % 4 !== 0) pending.set(key, 1)
  const table = new CensusTable(held, 0, 10_000)
  expect(table.scaleFor(held)).toBe(1)
  for (let asked = table.beginPage(); asked !== undefined; asked = table.beginPage()) {
    table.finishPage(pending.page(asked.shard, asked.exclusiveAfter, 100), true)
  }
  const { shard, move } = pending.set(1, 2)
  if (move !== undefined) table.note({ shard, epoch: 2 }, move)
  expect(countsOf(table)[1]).toBe(22)
  expect([
    table.isOf(held),
    table.isOf(held.slice(1)),
    table.isOf([...held, { shard: 9, epoch: 1 }]),
  ]).toEqual([true, false, false])
  expect(table.isOf(held.map((one) => ({ ...one, epoch: 2 })))).toBe(false)
  expect(table.scaleFor(held)).toBe(1)
  expect(table.scaleFor([...held, { shard: 9, epoch: 1 }])).toBe(4 / 3)
  expect(table.scaleFor([{ shard: 9, epoch: 1 }])).toBe(0)
  const ofOne = pending
    .page(0, { fireAt: 0, fireId: "" }, 100)
    .filter(({ namespace }) => namespace !== "_own")
  expect(table.scaleFor([at(held, 0)])).toBe(ofOne.length / 22)
})
