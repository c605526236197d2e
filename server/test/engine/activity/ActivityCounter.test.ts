import { describe, expect, test } from "bun:test"
import { activityRecordOf, activityTypes, latenessBuckets } from "../../../src/domain/ActivityRecord.ts"
import {
  ActivityCounter,
  lateNamesKept,
  namespacesKept,
} from "../../../src/engine/activity/ActivityCounter.ts"
import { CountTable } from "../../../src/engine/activity/CountTable.ts"
import { cancelOf, samplePut, sampleTimer } from "../../../testkit/timers.ts"

const startMs = Date.parse("2030-01-01T00:00:00Z")

const rig = () => {
  const clock = { nowMs: startMs }
  const counter = new ActivityCounter({ now: () => clock.nowMs })
  const create = (namespace: string) => {
    const put = samplePut({ namespace })
    counter.answered(put, { result: "created", timer: put.timer })
  }
  return { clock, counter, create }
}

describe("the counter", () => {
  test("counts by minute, namespace and type, and only what is counted", () => {
    const { clock, counter, create } = rig()
    create("shop")
    create("shop")
    const timer = sampleTimer({ namespace: "other" })
    counter.answered(cancelOf(timer), { result: "cancelled" })
    counter.answered(cancelOf(timer), { result: "alreadyCancelled" })
    counter.answered(samplePut(), { result: "unchanged", timer })
    const outcome = { kind: "outcome", timer, attempt: 1, at: 5 } as const
    for (const then of [
      { to: "delivered", latenessMs: 1 },
      { to: "rearmed", latenessMs: 1, executeAt: 1, fireId: "f" },
      { to: "retry", fireAt: 1 },
      { to: "dead", reason: "refused" },
      { to: "dropped", reason: "expired" },
      { to: "postponed", fireAt: 1 },
    ] as const) {
      counter.answered({ ...outcome, then }, { result: "settled" })
      counter.answered({ ...outcome, then }, { result: "stale" })
    }
    expect(counter.ended()).toEqual([])
    clock.nowMs += 60_000
    create("shop")
    const [first, ...more] = counter.ended()
    expect(more).toEqual([])
    expect(first).toEqual({
      atMs: startMs,
      namespaces: {
        names: ["other", "shop"],
        counts: [
          [0, 2, 1, 1, 2],
          [2, 0, 0, 0, 0],
        ],
      },
      lateness: new Array(latenessBuckets).fill(0),
    })
    expect(counter.unstored()).toHaveLength(2)
    counter.stored()
    expect(counter.unstored().map(({ atMs }) => atMs)).toEqual([startMs + 60_000])
  })

  test("counts how late attempts were: of all, of each namespace and of each host", () => {
    const { clock, counter } = rig()
    counter.sent("shop", "h1", 10)
    clock.nowMs += 60_000
    counter.sent("shop", "h2", 11)
    counter.sent("team", "h2", 999_999)
    counter.stop()
    const [one, two] = counter.ended()
    expect(one?.lateness).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0])
    expect(two?.lateness).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 1])
    expect(two?.late).toEqual({
      namespaces: {
        names: ["shop", "team"],
        counts: [
          [0, 1, 0, 0, 0, 0, 0, 0, 0],
          [0, 0, 0, 0, 0, 0, 0, 0, 1],
        ],
      },
      hosts: { names: ["h2"], counts: [[0, 1, 0, 0, 0, 0, 0, 0, 1]] },
    })
  })

  test("keeps at most 30 minutes that cannot be stored, and drops the oldest", () => {
    const { clock, counter, create } = rig()
    for (let minute = 0; minute < 40; minute++) {
      create("shop")
      clock.nowMs += 60_000
    }
    const ended = counter.ended()
    expect(ended).toHaveLength(30)
    expect(ended[0]?.atMs).toBe(startMs + 10 * 60_000)
  })

  test("makes records that can be read again, of a limited size, whatever the number of namespaces", () => {
    const { clock, counter, create } = rig()
    for (let place = 0; place < 1_100; place++) {
      const namespace = `${"n".repeat(94)}${place}`
      create(namespace)
      counter.sent(namespace, `${"h".repeat(240)}${place}.example.com:8443`, 5)
    }
    clock.nowMs += 60_000
    const [record] = counter.ended()
    const text = JSON.stringify(record)
    expect(text.length).toBeLessThan(256 * 1024)
    expect(activityRecordOf(JSON.parse(text))).toEqual(record)
    expect(record?.namespaces.names).toHaveLength(namespacesKept + 1)
    expect(record?.late?.hosts.names).toHaveLength(lateNamesKept + 1)
    expect(record?.namespaces.counts.reduce((sum, [created = 0]) => sum + created, 0)).toBe(1_100)
  })
})

test("a table keeps the busiest names, and the rest together", () => {
  const table = new CountTable(activityTypes.length, 4)
  for (const [name, times] of [
    ["a", 1],
    ["b", 5],
    ["c", 3],
    ["d", 2],
    ["e", 7],
  ] as const) {
    for (let time = 0; time < times; time++) table.count(name, 0)
  }
  // There was no room for e.
  expect(table.busiest(2)).toEqual({
    names: ["b", "c", "_other"],
    counts: [
      [5, 0, 0, 0, 0],
      [3, 0, 0, 0, 0],
      [10, 0, 0, 0, 0],
    ],
  })
})

test("values that are no records are refused", () => {
  const { clock, counter, create } = rig()
  create("shop")
  clock.nowMs += 60_000
  const [record] = counter.ended()
  expect(activityRecordOf(record)).toEqual(record)
  for (const value of [
    undefined,
    null,
    "x",
    [],
    { ...record, atMs: -1 },
    { ...record, lateness: [1] },
    { ...record, namespaces: { names: ["a"], counts: [] } },
    { ...record, namespaces: { names: ["a"], counts: [[1, 2, 3, 4, "5"]] } },
    { ...record, late: { namespaces: { names: [], counts: [] } } },
  ]) {
    expect(activityRecordOf(value)).toBeUndefined()
  }
})
