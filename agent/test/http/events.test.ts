// The stream of changes: readers get every change of their tenant, resume without a loss, and never delay each other.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import type { CallEvent } from "../../src/calls/ServiceCalls.ts"
import { CallFeed } from "../../src/http/CallFeed.ts"
import { AgentServer } from "../../testkit/AgentServer.ts"
import { CallEventReader } from "../../testkit/CallEventReader.ts"
import { MemoryServiceCalls } from "../../testkit/MemoryServiceCalls.ts"

const calls = "/api/v1/tenants/billing/service-calls"
const request = { method: "POST", url: "http://b.test/" }

let nowMs = 0
let memory: MemoryServiceCalls
let agent: AgentServer

beforeEach(async () => {
  nowMs = Date.parse("2030-01-01T00:00:00Z")
  memory = new MemoryServiceCalls(() => nowMs)
  agent = await AgentServer.start(memory.service, {
    nowMs: () => nowMs,
    streamLimits: { streamsMax: 3, perCallerMax: 2, queueMax: 4 },
  })
})

afterEach(() => agent[Symbol.asyncDispose]())

const open = async (query = "", headers = {}): Promise<CallEventReader> => {
  const before = memory.listeners("billing")
  const reader = await CallEventReader.open(`${agent.url}/api/v1/tenants/billing/events${query}`, headers)
  if (before === 0 && reader.status === 200)
    await eventually("the stream listens", () => (memory.listeners("billing") > 0 ? true : undefined))
  return reader
}

const versionsOf = (reader: CallEventReader): ReadonlyArray<string> =>
  reader.all.map(({ data }) => `${data.call?.serviceCallId} ${data.call?.version}`)

const until = (reader: CallEventReader, count: number) =>
  eventually(`${count} events`, () => (reader.all.length >= count ? reader.all : undefined))

describe("a reader", () => {
  test("gets the changes of its tenant and of no other", async () => {
    using reader = await open()
    await agent.send("POST", "/api/v1/tenants/other/service-calls", { request, serviceCallId: "theirs" })
    await agent.send("POST", calls, { request, serviceCallId: "ours" })
    const [event] = await until(reader, 1)
    expect(event).toMatchObject({
      event: "call",
      id: "2030-01-01T00:00:00.000Z",
      data: { at: "2030-01-01T00:00:00.000Z", call: { serviceCallId: "ours", status: "Submitted" } },
    })
    memory.change("billing", "ours", { state: "Running" })
    await until(reader, 2)
    expect(versionsOf(reader)).toEqual(["ours 1", "ours 2"])
  })

  test("that resumes gets again what was stored in the 10 s before its last event, and what it missed", async () => {
    await agent.send("POST", calls, { request, serviceCallId: "old" })
    nowMs += 11_000
    await agent.send("POST", calls, { request, serviceCallId: "last" })
    nowMs += 1_000
    await agent.send("POST", calls, { request, serviceCallId: "missed" })
    using resumed = await open("", { "last-event-id": "2030-01-01T00:00:11.000Z" })
    await until(resumed, 2)
    expect(versionsOf(resumed)).toEqual(["last 1", "missed 1"])
    using after = await open("?after=2030-01-01T00:00:05Z")
    await until(after, 3)
    expect(versionsOf(after)).toEqual(["old 1", "last 1", "missed 1"])
  })

  test("is refused with a wrong position, tenant or query, and when there are too many", async () => {
    const statusOf = async (path: string, headers = {}) =>
      (await agent.send("GET", `/api/v1/tenants/${path}`, undefined, headers)).status
    expect(await statusOf("billing/events", { "last-event-id": "7" })).toBe(400)
    expect(await statusOf("billing/events?after=now")).toBe(400)
    expect(await statusOf("billing/events?since=2030-01-01T00:00:00Z")).toBe(400)
    expect(await statusOf("_x/events")).toBe(400)
    using _one = await open()
    using _two = await open()
    expect(await statusOf("billing/events")).toBe(503)
  })

  test("is let go when the agent stops", async () => {
    using reader = await open()
    agent.http.close()
    await eventually("the stream has ended", () => (reader.isEnded ? true : undefined))
  })
})

describe("a feed", () => {
  const eventOf = (serviceCallId: string, version: number, at = 0): CallEvent => ({
    at,
    call: {
      tenantId: "t",
      serviceCallId,
      version,
      state: "Running",
      name: "n",
      tags: [],
      isStarred: false,
      method: "GET",
      host: "b.test",
      shownUrl: "http://b.test/",
      correlationId: "c",
      submittedAt: 0,
      dueAt: 0,
      dueTimes: 1,
      scheduledAtMs: 0,
    },
  })

  const makeFeed = (changes: ReadonlyArray<CallEvent> | undefined) => {
    const listeners = new Set<(event: CallEvent) => void>()
    const feed = new CallFeed({
      watch: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      changesAfter: async () => changes,
      changesMax: 3,
      queueMax: 2,
    })
    return { feed, tell: (event: CallEvent) => listeners.forEach((listener) => void listener(event)) }
  }

  const shownBy = (items: ReadonlyArray<{ readonly text: string }>) =>
    items.map(({ text }) => {
      const data = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? "null")
      return data.call === undefined ? "gap" : `${data.call.serviceCallId} ${data.call.version}`
    })

  test("keeps only the newest version of a call for a slow reader, and says when changes are missing", () => {
    const { feed, tell } = makeFeed([])
    const slow = feed.open(() => undefined, undefined)
    const quick = feed.open(() => undefined, undefined)
    const read: Array<string> = []
    for (const event of [eventOf("a", 1), eventOf("a", 2), eventOf("b", 1), eventOf("a", 3)]) {
      tell(event)
      read.push(...shownBy(quick.reader.take(10, 0)))
    }
    expect(read).toEqual(["a 1", "a 2", "b 1", "a 3"])
    expect(shownBy(slow.reader.take(10, 0))).toEqual(["b 1", "a 3"])
    for (const id of ["c", "d", "e", "f"]) tell(eventOf(id, 1))
    expect(shownBy(slow.reader.take(10, 0))).toEqual(["gap", "f 1"])
  })

  test("drops repeats and older versions, also those that a poll finds", async () => {
    const { feed, tell } = makeFeed([eventOf("a", 1), eventOf("b", 4)])
    const opened = feed.open(() => undefined, undefined)
    tell(eventOf("a", 2))
    tell(eventOf("a", 1))
    await feed.poll(100, 10)
    await feed.poll(100, 10)
    expect(shownBy(opened.reader.take(10, 0))).toEqual(["a 2", "b 4"])
    opened.close()
    expect(feed.isEmpty).toBe(true)
  })

  test("tells a reader of a gap if too much changed since its last event, or if the store does not answer", async () => {
    for (const changes of [[eventOf("a", 1), eventOf("b", 1), eventOf("c", 1)], undefined]) {
      const { feed } = makeFeed(changes)
      const { promise, resolve } = Promise.withResolvers<void>()
      const { reader } = feed.open(resolve, 0)
      await promise
      expect(shownBy(reader.take(10, 0))).toEqual(["gap"])
    }
  })
})
