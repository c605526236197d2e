import { expect, test } from "bun:test"
import { type LaneRow, mergeLanes } from "../../src/stores/listLanes.ts"
import { recordIn } from "../../testkit/sampleCalls.ts"

const row = (at: number, id: string): LaneRow => ({
  record: JSON.stringify(recordIn("Failed", { serviceCallId: id })),
  at,
  service_call_id: id,
})
const stop = (at: number, id: string): LaneRow => ({ record: null, at, service_call_id: id })
const merged = (lanes: ReadonlyArray<ReadonlyArray<LaneRow>>, limit: number) => {
  const { records, next } = mergeLanes(lanes, { limit, isAscending: true })
  return { ids: records.map(({ call }) => call.serviceCallId), next }
}

test("a page ends where the first lane stopped reading, and goes on there", () => {
  const lanes = [
    [row(1, "a"), row(5, "e"), stop(9, "x")],
    [row(2, "b"), stop(4, "y")],
  ]
  // The second lane may have a call between 4 and 5, so the page must not show e yet.
  expect(merged(lanes, 10)).toEqual({ ids: ["a", "b"], next: { at: 4, serviceCallId: "y" } })
})

test("a page that is full goes on after its last call", () => {
  const lanes = [[row(1, "a"), row(3, "c")], [row(2, "b")]]
  expect(merged(lanes, 2)).toEqual({ ids: ["a", "b"], next: { at: 2, serviceCallId: "b" } })
  expect(merged(lanes, 3)).toEqual({ ids: ["a", "b", "c"], next: undefined })
})

test("a lane that stopped without a match gives an empty page with a cursor", () => {
  expect(merged([[stop(7, "z")], []], 5)).toEqual({ ids: [], next: { at: 7, serviceCallId: "z" } })
})
