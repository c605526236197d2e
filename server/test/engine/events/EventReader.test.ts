import { describe, expect, test } from "bun:test"
import {
  EventReader,
  positionOf,
  positionText,
  type ReaderItem,
} from "../../../src/engine/events/EventReader.ts"
import { sampleEvent } from "../../../testkit/sampleEvent.ts"

const feed = "0123456789ab"
const limits = { perSecondMax: 3, waitingMax: 5 }

const readerOf = (wants: (namespace: string) => boolean = () => true) => {
  const calls = { ready: 0 }
  const reader = new EventReader({
    wants: ({ namespace }) => wants(namespace),
    onReady: () => calls.ready++,
    limits,
  })
  let number = 0
  return {
    reader,
    calls,
    offer: (count: number, nowMs: number, more: Parameters<typeof sampleEvent>[0] = {}) => {
      for (let place = 0; place < count; place++) reader.offer(feed, ++number, sampleEvent(more), nowMs)
    },
  }
}

const shown = (items: ReadonlyArray<ReaderItem>): ReadonlyArray<unknown> =>
  items.map((item) =>
    item.kind === "event" ? item.event.type : item.kind === "skipped" ? item.counts : item.kind,
  )

describe("a reader", () => {
  test("gets at most so many events of a second, and counts of the rest when the second is over", () => {
    const { reader, offer, calls } = readerOf()
    offer(4, 100)
    offer(2, 900, { type: "dead" })
    expect(shown(reader.take(100, 950))).toEqual(["created", "created", "created"])
    expect(shown(reader.take(100, 999))).toEqual([])
    calls.ready = 0
    reader.tick(999)
    expect(calls.ready).toBe(0)
    reader.tick(1_000)
    expect(calls.ready).toBe(1)
    expect(shown(reader.take(100, 1_000))).toEqual([{ created: 1, dead: 2 }])
    expect(shown(reader.take(100, 1_000))).toEqual([])
    offer(1, 1_100)
    expect(shown(reader.take(100, 1_100))).toEqual(["created"])
  })

  test("that takes nothing has a limited number of events waiting, and loses no count", () => {
    const { reader, offer } = readerOf()
    for (let second = 0; second < 1_000; second++) offer(5, second * 1_000)
    const items = reader.take(1_000_000, 1_000_000)
    expect(shown(items)).toEqual([...Array.from({ length: 5 }, () => "created"), { created: 4_995 }])
  })

  test("gets counts after the events that wait before them", () => {
    const { reader, offer } = readerOf()
    offer(5, 0)
    expect(shown(reader.take(2, 5_000))).toEqual(["created", "created"])
    expect(shown(reader.take(2, 5_000))).toEqual(["created", { created: 2 }])
  })

  test("stands after the last event that it was offered, whether it wanted the event or not", () => {
    const { reader, offer } = readerOf((namespace) => namespace === "shop")
    offer(1, 0)
    offer(2, 0, { namespace: "other" })
    expect(reader.positionText).toBeUndefined()
    expect(reader.take(100, 0).map(({ position }) => position)).toEqual([`${feed}.1`])
    expect(reader.positionText).toBe(`${feed}.3`)
  })

  test("is told about a gap and missing nodes first, without a position that is ahead of waiting events", () => {
    const { reader, offer } = readerOf()
    offer(1, 0)
    reader.gap()
    reader.missing(["b"])
    const items = reader.take(100, 0)
    expect(shown(items)).toEqual(["gap", "nodes", "created"])
    expect(items.map(({ position }) => position)).toEqual([undefined, undefined, `${feed}.1`])
    reader.missing(["b"])
    expect(reader.take(100, 0)).toEqual([])
    reader.missing([])
    expect(reader.take(100, 0)).toEqual([{ kind: "nodes", missing: [], position: `${feed}.1` }])
  })
})

describe("a position", () => {
  test("is the same after it was written and read", () => {
    const position = new Map([
      [feed, 0],
      ["ba9876543210", 123_456_789],
    ])
    expect(positionOf(positionText(position))).toEqual(position)
  })

  test("is refused if it is malformed or names too many feeds", () => {
    const many = Array.from({ length: 65 }, (_, place) => `${place.toString(16).padStart(12, "0")}.1`)
    for (const text of ["", "x", `${feed}`, `${feed}.`, `${feed}.-1`, `${feed}.1,`, many.join(",")]) {
      expect([text, positionOf(text)]).toEqual([text, undefined])
    }
    expect(positionOf(many.slice(1).join(","))?.size).toBe(64)
  })
})
