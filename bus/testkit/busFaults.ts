// Runs that every broker must survive, and their steps.
import { expect } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Latch, type Scope } from "effect"
import type { Bus, BusError, BusSample, PublishError } from "../src/Bus.ts"
import type { OutgoingEnvelope } from "../src/Envelope.ts"
import type { IntakeOptions } from "../src/IntakeOptions.ts"
import { groups, Listener, quickIntake, sampleMessage } from "./BusFixture.ts"

export interface MortalBroker {
  kill9(): Promise<void>
  restart(): Promise<void>
}

/** Many messages at once, and answers that are late soon. */
export const faultIntake: IntakeOptions = {
  ...quickIntake,
  ackWaitMs: 1_000,
  heldAtMost: 1_000,
  handlersAtMost: 256,
}

/** A broker can take long to start on a busy machine. */
export const twoRestartsWithinMs = 240_000

/** Waits in real time. */
export const until = (what: string, ask: () => boolean, withinMs?: number) =>
  Effect.promise(() => eventually(what, () => (ask() ? true : undefined), withinMs))

/** Publishes again until the broker has confirmed all. */
export const publishUntilTaken = (
  bus: Bus["Service"],
  envelopes: ReadonlyArray<OutgoingEnvelope>,
  onFailure: (error: PublishError) => void,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (;;) {
      const published = yield* bus.publish(envelopes).pipe(Effect.result)
      if (published._tag === "Success") return
      onFailure(published.failure)
      yield* Effect.sleep(20)
    }
  })

/** Waits until the broker has nothing left for the first group. */
export const untilNothingIsLeft = (bus: Bus["Service"]): Effect.Effect<void, BusError> =>
  untilSample(bus, "the broker has nothing left", ({ isConnected, lag }) => isConnected && lag === 0)

const untilSample = (
  bus: Bus["Service"],
  what: string,
  isMet: (sample: BusSample) => boolean,
): Effect.Effect<void, BusError> =>
  Effect.gen(function* () {
    const deadlineMs = performance.now() + 60_000
    while (!isMet(yield* bus.sample(groups[0]))) {
      if (performance.now() > deadlineMs) throw new Error(`not within a minute: ${what}`)
      yield* Effect.sleep(20)
    }
  })

/**
 * 10,000 messages, and a broker that is killed twice while they are on their way. Some are published while the broker is
 * away, so publishes must fail within the time of the restart.
 */
export const killedTwice = (
  bus: Bus["Service"],
  server: MortalBroker,
  untilNothingIsLeftOn: Effect.Effect<unknown, BusError> = untilNothingIsLeft(bus),
): Effect.Effect<void, BusError | PublishError, Scope.Scope> =>
  Effect.gen(function* () {
    const [keys, perKey, batch] = [100, 100, 5]
    /** Messages from this index on are published when the broker is away. */
    const kills = [
      { fromIndex: 60, afterDeliveries: 2_000, isAway: Latch.makeUnsafe(false) },
      { fromIndex: 90, afterDeliveries: 7_000, isAway: Latch.makeUnsafe(false) },
    ]
    const handled = new Map<string, Array<number>>()
    const outOfOrder: Array<string> = []
    let deliveries = 0
    const listener = new Listener(({ envelope, delivery }) =>
      Effect.sync(() => {
        deliveries++
        const { index } = envelope.payload as { readonly index: number }
        const seen = handled.get(envelope.aggregateId) ?? []
        handled.set(envelope.aggregateId, seen)
        if (seen.includes(index)) return
        // A lost message is delivered again later, so only first deliveries must be in order.
        if (delivery === 1 && seen.some((one) => one > index)) outOfOrder.push(envelope.aggregateId)
        seen.push(index)
      }),
    )
    yield* bus.subscribe(listener.subscription)
    let failures = 0
    const publishing = yield* Effect.forEach(
      Array.from({ length: keys }, (_, key) => `call-${key}`),
      (key) =>
        Effect.gen(function* () {
          for (let from = 0; from < perKey; from += batch) {
            yield* kills.findLast(({ fromIndex }) => fromIndex <= from)?.isAway.await ?? Effect.void
            const envelopes = Array.from({ length: batch }, (_, offset) =>
              sampleMessage({ key, payloadJson: JSON.stringify({ index: from + offset }) }),
            )
            yield* publishUntilTaken(bus, envelopes, () => failures++)
          }
        }),
      { concurrency: "unbounded", discard: true },
    ).pipe(Effect.forkScoped)
    for (const { afterDeliveries, isAway } of kills) {
      yield* until(`${afterDeliveries} deliveries`, () => deliveries >= afterDeliveries, 60_000)
      const failuresBefore = failures
      yield* Effect.promise(() => server.kill9())
      isAway.openUnsafe()
      yield* until("a publish fails", () => failures > failuresBefore)
      yield* Effect.promise(() => server.restart())
      yield* untilSample(bus, "the bus is connected again", ({ isConnected }) => isConnected)
    }
    yield* until("all is published", () => publishing.pollUnsafe() !== undefined, 60_000)
    const complete = () => [...handled.values()].every((seen) => seen.length === perKey)
    yield* until("every message is handled", () => handled.size === keys && complete(), 60_000)
    yield* untilNothingIsLeftOn
    expect(outOfOrder).toEqual([])
    expect(listener.events("undeliverable")).toBe(0)
  })

/** 50 tenants with 100 keys each. */
export const manyKeys = (bus: Bus["Service"]): Effect.Effect<void, BusError | PublishError, Scope.Scope> =>
  Effect.gen(function* () {
    const perKey = 3
    const running = new Set<string>()
    const overlapping: Array<string> = []
    const handled = new Map<string, Array<number>>()
    let count = 0
    const listener = new Listener(({ envelope: { tenantId, aggregateId, payload } }) =>
      Effect.gen(function* () {
        const key = `${tenantId}.${aggregateId}`
        if (running.has(key)) overlapping.push(key)
        running.add(key)
        yield* Effect.yieldNow
        const { index } = payload as { readonly index: number }
        handled.set(key, [...(handled.get(key) ?? []), index])
        running.delete(key)
        count++
      }),
    )
    yield* bus.subscribe(listener.subscription)
    const keys = Array.from({ length: 5_000 }, (_, number) => ({
      tenant: `tenant-${number % 50}`,
      key: `call-${Math.floor(number / 50)}`,
    }))
    const round = (index: number) =>
      keys.map((key) => sampleMessage({ ...key, payloadJson: JSON.stringify({ index }) }))
    const messages = Array.from({ length: perKey }, (_, index) => round(index)).flat()
    yield* bus.publish(messages)
    yield* until("all are handled", () => count === messages.length)
    expect(overlapping).toEqual([])
    expect(handled.size).toBe(5_000)
    for (const indexes of handled.values()) expect(indexes).toEqual([0, 1, 2])
  })
