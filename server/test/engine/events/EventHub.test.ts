// Several nodes in one process: each has its feed and its hub, and hubs ask the feeds of the others directly.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { EventFeed } from "../../../src/engine/events/EventFeed.ts"
import { EventHub, type OpenEventReader } from "../../../src/engine/events/EventHub.ts"
import type { ReaderItem } from "../../../src/engine/events/EventReader.ts"
import { PeerError } from "../../../src/ports/Peers.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { sampleTimer } from "../../../testkit/timers.ts"

class Nodes {
  nowMs = 0
  readonly feeds = new Map<string, EventFeed>()
  readonly hubs = new Map<string, EventHub>()
  readonly dead = new Set<string>()
  asked = 0

  constructor(names: ReadonlyArray<string>) {
    for (const name of names) this.add(name)
  }

  add(name: string): void {
    const feed = new EventFeed(() => this.nowMs)
    this.feeds.set(name, feed)
    const hub = new EventHub({
      feed,
      wallMs: () => this.nowMs,
      runFork: Effect.runFork,
      cluster: {
        others: () =>
          [...this.feeds.keys()].filter((other) => other !== name).map((node) => ({ node, address: node })),
        events: {
          after: ({ node }, position) =>
            Effect.suspend(() => {
              this.asked++
              const asked = this.feeds.get(node)
              return asked === undefined || this.dead.has(node)
                ? Effect.fail(new PeerError({ message: "gone", isUndelivered: true }))
                : Effect.map(asked.next(position, 100, 5), ({ events, ...page }) => ({
                    ...page,
                    events: events.map(({ event }) => event),
                  }))
            }),
        },
      },
    })
    this.hubs.set(name, hub)
  }

  open(name: string, resume?: string): Reading {
    const hub = this.hubs.get(name)
    if (hub === undefined) throw new Error(`there is no node ${name}`)
    return new Reading(hub.open({ wants: () => true, onReady: () => {} }, resume), this)
  }

  starts(node: string, timerId: string): void {
    const feed = this.feeds.get(node)
    if (feed?.isHeard === true) feed.started(sampleTimer({ timerId }), this.nowMs)
  }

  tick(): void {
    for (const hub of this.hubs.values()) hub.tick()
  }
}

class Reading implements Disposable {
  readonly #open: OpenEventReader
  readonly #nodes: Nodes
  readonly all: Array<ReaderItem> = []

  constructor(open: OpenEventReader, nodes: Nodes) {
    this.#open = open
    this.#nodes = nodes
  }

  get shown(): ReadonlyArray<string> {
    this.all.push(...this.taken)
    return this.all.map((item) => {
      if (item.kind === "event") return item.event.timerId
      return item.kind === "nodes" ? `missing ${item.missing.join(" ")}`.trim() : item.kind
    })
  }

  get taken(): ReadonlyArray<ReaderItem> {
    return this.#open.reader.take(1_000, this.#nodes.nowMs)
  }

  get position(): string | undefined {
    return this.all.findLast(({ position }) => position !== undefined)?.position
  }

  until(wanted: ReadonlyArray<string>): Promise<unknown> {
    return eventually(
      `${wanted.join(", ")} instead of ${this.shown.join(", ")}`,
      () => {
        this.#nodes.tick()
        return JSON.stringify(this.shown) === JSON.stringify(wanted) || undefined
      },
      30_000,
    )
  }

  close(): void {
    this.#open.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

describe("a node with readers", () => {
  test("does not give all of them their share of a busy second at the same time", () => {
    const nodes = new Nodes(["a"])
    const readings = Array.from({ length: 10 }, () => nodes.open("a"))
    const tenths = readings.map(() => new Set<number>())
    for (; nodes.nowMs < 3_000; nodes.nowMs += 100) {
      for (let event = 0; event < 100; event++) nodes.starts("a", "busy")
      for (const [place, { taken }] of readings.entries()) {
        if (taken.some(({ kind }) => kind === "event")) tenths[place]?.add(nodes.nowMs)
      }
    }
    for (let nowMs = 1_000; nowMs < 2_000; nowMs += 100) {
      expect(tenths.filter((of) => of.has(nowMs)).length).toBeLessThanOrEqual(2)
    }
    // Each gets it once a second.
    expect(tenths.map((of) => [...of].filter((ms) => ms >= 1_000 && ms < 2_000).length)).toEqual(
      readings.map(() => 1),
    )
    for (const reading of readings) reading.close()
  })

  test("gives them the events of all nodes, and asks nobody before the first and after the last", async () => {
    const nodes = new Nodes(["a", "b", "c"])
    expect([...nodes.feeds.values()].map(({ isHeard }) => isHeard)).toEqual([false, false, false])
    const reading = nodes.open("a")
    using other = nodes.open("a")
    await reading.until(["missing"])
    for (const node of ["a", "b", "c"]) {
      nodes.starts(node, `of ${node}`)
      await eventually(node, () => reading.shown.at(-1) === `of ${node}` || undefined)
    }
    await other.until(["missing", "of a", "of b", "of c"])
    reading.close()
    other.close()
    const { asked } = nodes
    nodes.tick()
    await Effect.runPromise(Effect.sleep(40))
    expect(nodes.asked).toBe(asked)
    nodes.nowMs += 60_000
    nodes.starts("b", "unheard")
    expect(nodes.feeds.get("b")?.isHeard).toBe(false)
  })

  test("names a node that does not answer, and says when it answers again", async () => {
    const nodes = new Nodes(["a", "b", "c"])
    nodes.dead.add("c")
    using reading = nodes.open("a")
    await reading.until(["missing c"])
    nodes.dead.delete("c")
    // Events of the node before this are lost.
    await reading.until(["missing c", "gap", "missing"])
    nodes.dead.add("b")
    await reading.until(["missing c", "gap", "missing", "missing b"])
    nodes.starts("b", "meanwhile")
    nodes.dead.delete("b")
    await eventually("the event comes late", () => reading.shown.includes("meanwhile") || undefined)
    expect(reading.shown.filter((item) => item === "gap")).toEqual(["gap"])
  })

  test("says that events may be missing after a node has ended, has started again, or was added", async () => {
    const nodes = new Nodes(["a", "b"])
    using reading = nodes.open("a")
    await reading.until(["missing"])
    nodes.add("b")
    await reading.until(["missing", "gap"])
    nodes.feeds.delete("b")
    await reading.until(["missing", "gap", "gap"])
    nodes.add("c")
    await reading.until(["missing", "gap", "gap", "gap"])
  })
})

describe("a reader that comes back within a minute", () => {
  test("continues where it was, on the same node and on another one", async () => {
    const nodes = new Nodes(["a", "b", "c"])
    const first = nodes.open("a")
    await first.until(["missing"])
    nodes.starts("a", "1")
    nodes.starts("b", "2")
    await eventually("both", () => first.shown.length === 3 || undefined)
    first.close()
    nodes.nowMs += 30_000
    for (const [node, timerId] of [
      ["a", "3"],
      ["b", "4"],
      ["c", "5"],
    ] as const)
      nodes.starts(node, timerId)
    for (const node of ["a", "b"]) {
      using again = nodes.open(node, first.position)
      await eventually(`the rest on ${node}`, () => again.shown.length === 4 || undefined)
      expect([...again.shown].sort()).toEqual(["3", "4", "5", "missing"])
    }
  })

  test("is told that events may be missing if a node has ended or the minute is over", async () => {
    const nodes = new Nodes(["a", "b"])
    const first = nodes.open("a")
    await first.until(["missing"])
    nodes.starts("a", "1")
    await first.until(["missing", "1"])
    first.close()
    nodes.feeds.delete("a")
    {
      using again = nodes.open("b", first.position)
      await again.until(["gap", "missing"])
    }
    nodes.nowMs += 60_001
    nodes.starts("b", "unheard")
    using late = nodes.open("b", first.position)
    await late.until(["gap", "missing"])
  })

  test("is told about a gap if the node keeps fewer events", async () => {
    let nowMs = 0
    const feed = new EventFeed(() => nowMs, { eventsMax: 2, keptMs: 60_000 })
    const hub = new EventHub({ feed, wallMs: () => nowMs, runFork: Effect.runFork })
    const open = (resume?: string) => hub.open({ wants: () => true, onReady: () => {} }, resume)
    const first = open()
    const [welcome] = first.reader.take(10, nowMs)
    first.close()
    nowMs += 1_000
    for (const timerId of ["1", "2"]) feed.started(sampleTimer({ timerId }), nowMs)
    const kept = open(welcome?.position)
    expect(kept.reader.take(10, nowMs).map(({ kind }) => kind)).toEqual(["nodes", "event", "event"])
    kept.close()
    feed.started(sampleTimer({ timerId: "3" }), nowMs)
    const lost = open(welcome?.position)
    expect(lost.reader.take(10, nowMs).map(({ kind }) => kind)).toEqual(["gap", "nodes"])
    lost.close()
  })
})
