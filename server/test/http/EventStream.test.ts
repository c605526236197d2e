import { expect, test } from "bun:test"
import { beatMs, EventStream } from "@punctual/http/EventStream"
import { Effect } from "effect"
import { EventFeed } from "../../src/engine/events/EventFeed.ts"
import { EventHub } from "../../src/engine/events/EventHub.ts"
import { eventText } from "../../src/http/eventText.ts"
import { sampleTimer } from "../../testkit/timers.ts"

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

const rig = (gather: () => Promise<unknown> = async () => {}) => {
  const clock = { nowMs: 0, ended: 0, sent: 0 }
  const nowMs = () => clock.nowMs
  const feed = new EventFeed(nowMs)
  const hub = new EventHub({ feed, wallMs: nowMs, runFork: Effect.runFork })
  const stream = new EventStream({
    open: (onReady) => hub.open({ wants: () => true, onReady }, undefined),
    nowMs,
    textOf: eventText,
    onSent: (items) => {
      clock.sent += items.length
    },
    onEnd: () => clock.ended++,
    gather,
  })
  return { clock, feed, hub, stream, text: stream.text() }
}

test("a stream begins with the missing nodes, and a comment with the position follows a time without events", async () => {
  const { clock, feed, stream, text } = rig()
  expect((await text.next()).value).toBe("retry: 2000\n\n")
  const position = `${feed.id}.${feed.ring.last.toString(36)}`
  expect((await text.next()).value).toBe(`event: nodes\nid: ${position}\ndata: {"missing":[]}\n\n`)
  const next = text.next()
  clock.nowMs += beatMs - 1
  stream.tick(clock.nowMs)
  clock.nowMs += 1
  stream.tick(clock.nowMs)
  expect((await next).value).toBe(`:\nid: ${position}\n\n`)
})

test("a stream whose client does not read makes no text, keeps a limited number of events and counts the rest", async () => {
  const { clock, feed, hub, text } = rig()
  await text.next()
  await text.next()
  for (let second = 1; second <= 200; second++) {
    clock.nowMs = second * 1_000
    hub.tick()
    for (let place = 0; place < 60; place++) feed.started(sampleTimer(), 0)
  }
  expect(clock.sent).toBe(1)
  clock.nowMs += 1_000
  let [events, bytes, counted] = [0, 0, 0]
  while (counted === 0) {
    const part = String((await text.next()).value)
    bytes = Math.max(bytes, part.length)
    events += part.split("event: started").length - 1
    counted = Number(/"started":(\d+)/.exec(part)?.[1] ?? 0)
  }
  expect([events, counted]).toEqual([1_000, 11_000])
  expect(bytes).toBeLessThan(64 * 1024)
})

test("events that follow the first one soon go out in one piece", async () => {
  const gathered = Promise.withResolvers<void>()
  const { feed, text } = rig(() => gathered.promise)
  await text.next()
  await text.next()
  const next = text.next()
  for (let event = 0; event < 10; event++) {
    feed.started(sampleTimer(), 0)
    await nextTurn()
  }
  gathered.resolve()
  expect(String((await next).value).split("event: started")).toHaveLength(11)
})

test("a stream that ended sends nothing more, although events wait, and ends once", async () => {
  const { clock, feed, stream, text } = rig()
  await text.next()
  await text.next()
  const next = text.next()
  feed.started(sampleTimer(), 0)
  stream.end()
  stream.end()
  expect((await next).done).toBe(true)
  expect((await text.next()).done).toBe(true)
  expect(clock.ended).toBe(1)
})

test("a stream that its client abandons leaves the hub", async () => {
  const { clock, text } = rig()
  await text.next()
  await text.return(undefined)
  expect(clock.ended).toBe(1)
})
