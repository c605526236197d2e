// Members of a group that are processes of their own, and messages that end these processes from within a handler.
import { expect } from "bun:test"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Logger } from "effect"
import { Bus } from "../src/Bus.ts"
import type { Envelope, OutgoingEnvelope } from "../src/Envelope.ts"
import { UndeliverableMessages } from "../src/UndeliverableMessages.ts"
import { Listener, sampleMessage } from "./BusFixture.ts"
import { KeyOrder, until, untilNothingIsLeft } from "./busFaults.ts"
import { joinedLine, type MemberOptions, memberLayer } from "./mortalMemberMain.ts"

/** One run of the process. */
class MortalMember {
  readonly #child: ChildProcess
  readonly #closed: Promise<void>
  #hasClosed = false
  #output = ""

  constructor(member: MemberOptions) {
    const main = fileURLToPath(new URL("./mortalMemberMain.ts", import.meta.url))
    this.#child = spawn(process.execPath, [main, JSON.stringify(member)], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    this.#closed = once(this.#child, "close").then(() => {
      this.#hasClosed = true
    })
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#output += chunk.toString()
    })
    running.add(this)
  }

  /** What the member has handled, in order. */
  get handled(): ReadonlyArray<{ readonly id: string; readonly delivery: number }> {
    // Messages that wait for the group can come before the member knows that it has joined.
    const lines = this.#lines.filter((line) => line !== joinedLine)
    return lines.map((line) => {
      const [id = "", delivery] = line.split(" ")
      return { id, delivery: Number(delivery) }
    })
  }

  get hasJoined(): boolean {
    return this.#lines.includes(joinedLine)
  }

  /** Whether the process has ended, and all that it printed is here. */
  get hasFallen(): boolean {
    return this.#hasClosed && this.#child.signalCode === "SIGKILL"
  }

  async end(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#closed
    running.delete(this)
  }

  get #lines(): ReadonlyArray<string> {
    return this.#output.split("\n").slice(0, -1)
  }
}

const running = new Set<MortalMember>()

process.once("exit", () => {
  for (const member of running) void member.end()
})

/** Members that end with the test. Resolves when all have joined the group. */
const started = Effect.fnUntraced(function* (member: MemberOptions, count: number) {
  const made = yield* Effect.acquireRelease(
    Effect.sync(() => Array.from({ length: count }, () => new MortalMember(member))),
    (members) => Effect.promise(() => Promise.all(members.map((one) => one.end()))),
  )
  yield* until("the members have joined", () => made.every(({ hasJoined }) => hasJoined), 60_000)
  return made
})

export interface PoisonRun {
  /** At some brokers, each end of the process counts as a delivery of all messages that it held. */
  readonly beside: "counts" | "isSpared"
  /** How many members there are at the beginning. A member that falls gets a successor, if it was the last one. */
  readonly members: number
}

/** A message that kills every process becomes undeliverable after its deliveries. */
export const poisonRun = (member: MemberOptions, { beside, members: count }: PoisonRun): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const bus = yield* Bus
      const kept = yield* UndeliverableMessages
      const members = yield* started(member, count)
      const poison = sampleMessage({ payloadJson: '{"kills":true}' })
      // It waits for the poison, because it has the same key.
      const follower = sampleMessage()
      const rest = Array.from({ length: 20 }, (_, key) => sampleMessage({ key: `${key}` }))
      yield* bus.publish([poison, follower, ...rest])
      const fallen = () => members.filter(({ hasFallen }) => hasFallen).length
      for (let falls = 1; falls <= 5; falls++) {
        yield* until(`process ${falls} falls`, () => fallen() >= falls, 60_000)
        if (fallen() === members.length) members.push(new MortalMember(member))
      }
      const setAside = Effect.map(kept.list("acme", { limit: 100 }), ({ messages }) =>
        messages.map(({ record }) => ({ id: String(record.envelope?.id), reason: record.reason })),
      )
      const deliveryOf = (id: string) =>
        members.flatMap(({ handled }) => handled).find((one) => one.id === id)?.delivery
      let aside = yield* setAside
      const isDone = ({ id }: OutgoingEnvelope) =>
        deliveryOf(id) !== undefined || aside.some((one) => one.id === id)
      const open = () => [poison, follower, ...rest].filter((one) => !isDone(one))
      yield* Effect.promise(() =>
        eventually("every message is handled or undeliverable", async () => {
          aside = await Effect.runPromise(setAside)
          return open().length === 0 || fallen() > 5 ? true : undefined
        }),
      )
      expect({ fallen: fallen(), open: open().map(({ aggregateId }) => aggregateId) }).toEqual({
        fallen: 5,
        open: [],
      })
      expect(aside).toContainEqual({ id: poison.id, reason: "deliveriesExhausted" })
      expect(deliveryOf(poison.id)).toBeUndefined()
      if (beside === "isSpared") {
        expect(aside).toHaveLength(1)
        for (const { id } of [follower, ...rest]) expect(deliveryOf(id)).toBeLessThanOrEqual(3)
      } else {
        expect(deliveryOf(follower.id) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(1)
      }
    }).pipe(Effect.scoped, Effect.provide(memberLayer(member)), Effect.provide(Logger.layer([]))),
  )

/**
 * A member is killed while messages flow, and another member that stands by takes its messages over. Each key keeps its
 * order: what the killed member has handled comes before what the other one handles, without a gap.
 */
export const takeoverRun = (member: MemberOptions): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const bus = yield* Bus
      const [keys, perKey, killsAt] = [24, 30, 15]
      const [active] = yield* started(member, 1)
      if (active === undefined) throw new Error("there is one member")
      const standby = new Listener()
      yield* bus.subscribe(standby.subscription)
      const messages = new Map<string, Pick<Envelope, "aggregateId" | "payload">>()
      for (let index = 0; index < perKey; index++) {
        // The member that stands by ignores `kills`, so only the first one ends.
        const payload = index === killsAt ? { index, kills: true } : { index }
        const round = Array.from({ length: keys }, (_, key) =>
          sampleMessage({ key: `call-${key}`, payloadJson: JSON.stringify(payload) }),
        )
        for (const { id, aggregateId } of round) messages.set(id, { aggregateId, payload })
        yield* bus.publish(round)
      }
      yield* until("the member falls", () => active.hasFallen, 60_000)
      const handled = () =>
        [...active.handled.map(({ id }) => id), ...standby.askedIds].filter((id) => messages.has(id))
      yield* until("all are handled", () => new Set(handled()).size === messages.size, 60_000)
      yield* untilNothingIsLeft(bus)
      const order = new KeyOrder()
      for (const id of handled()) {
        const message = messages.get(id)
        if (message !== undefined) order.note(message)
      }
      expect(order.wrong).toEqual([])
      expect(order.isDone(keys, perKey)).toBe(true)
      // Otherwise nothing was taken over.
      const keysOf = (ids: ReadonlyArray<string>) => new Set(ids.map((id) => messages.get(id)?.aggregateId))
      const begun = keysOf(active.handled.map(({ id }) => id).filter((id) => messages.has(id)))
      expect(begun.size).toBeGreaterThan(0)
      expect(begun.isSubsetOf(keysOf(standby.askedIds))).toBe(true)
    }).pipe(Effect.scoped, Effect.provide(memberLayer(member)), Effect.provide(Logger.layer([]))),
  )
