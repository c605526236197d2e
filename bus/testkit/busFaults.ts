// Runs that every broker must survive, and their steps.
import { expect } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { Context, Effect, Exit, Fiber, Latch, Layer, Scope } from "effect"
import { Bus, type BusError, type BusSample, MessageFailed, type PublishError } from "../src/Bus.ts"
import type { Envelope, OutgoingEnvelope } from "../src/Envelope.ts"
import type { IntakeOptions } from "../src/IntakeOptions.ts"
import { type BrokerRig, withBusOf } from "./BrokerRig.ts"
import { groups, Listener, type NewMessage, quickIntake, sampleMessage } from "./BusFixture.ts"
import { keptLogs } from "./keptLogs.ts"

/** Many messages at once, and answers that are late soon. */
export const faultIntake: IntakeOptions = {
  ...quickIntake,
  ackWaitMs: 1_000,
  heldAtMost: 1_000,
  handlersAtMost: 256,
}

/** On a busy machine a handler must not come too late. */
export const lateIntake: IntakeOptions = { ...faultIntake, ackWaitMs: 20_000 }

/** A message that failed waits for a while, also on a busy machine. */
export const slowRetries: IntakeOptions = { ...lateIntake, retryDelaysMs: [500, 500, 500, 500] }

/** A broker can take long to start on a busy machine. */
export const twoRestartsWithinMs = 240_000

/** Waits in real time. */
export const until = (what: string, ask: () => boolean, withinMs?: number) =>
  Effect.promise(() => eventually(what, () => (ask() ? true : undefined), withinMs))

/** A message that has its place among the messages of its key. */
export const numberedMessage = (message: NewMessage, index: number): OutgoingEnvelope =>
  sampleMessage({ ...message, payloadJson: JSON.stringify({ index }) })

/** The place that `numberedMessage` gave the message. */
export const indexOf = ({ payload }: Pick<Envelope, "payload">): number => {
  if (typeof payload === "object" && payload !== null && "index" in payload) return Number(payload.index)
  throw new Error("the message has no number")
}

/** Checks that the messages of each key come in order. A repeat may come at any time. */
export class KeyOrder {
  readonly wrong: Array<string> = []
  readonly #next = new Map<string, number>()

  note(envelope: Pick<Envelope, "aggregateId" | "payload">): void {
    const { aggregateId } = envelope
    const [index, next] = [indexOf(envelope), this.#next.get(aggregateId) ?? 0]
    if (index < next) return
    if (index > next) this.wrong.push(`${aggregateId}: ${index} instead of ${next}`)
    this.#next.set(aggregateId, index + 1)
  }

  /** Whether every key has got all its messages. */
  isDone(keys: number, perKey: number): boolean {
    return this.#next.size === keys && [...this.#next.values()].every((next) => next === perKey)
  }
}

/** Publishes all messages of the first index, then all of the next one, and so on. */
export const publishRounds = (
  bus: Bus["Service"],
  keys: number,
  perKey: number,
): Effect.Effect<void, PublishError> =>
  Effect.forEach(
    Array.from({ length: perKey }, (_, index) => index),
    (index) =>
      bus.publish(Array.from({ length: keys }, (_, key) => numberedMessage({ key: `call-${key}` }, index))),
    { discard: true },
  )

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
): Effect.Effect<void, BusError> => untilTrue(what, Effect.map(bus.sample(groups[0]), isMet))

/** Asks the broker again and again. */
const untilTrue = <E>(what: string, ask: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    const deadlineMs = performance.now() + 60_000
    while (!(yield* ask)) {
      if (performance.now() > deadlineMs) throw new Error(`not within a minute: ${what}`)
      yield* Effect.sleep(20)
    }
  })

/**
 * 10,000 messages, and a broker that is killed twice while they are on their way. Some are published while the broker is
 * away, so publishes must fail within the time of the restart.
 */
const killedTwice = (
  bus: Bus["Service"],
  broker: Pick<BrokerRig, "kill9" | "restart">,
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
        const index = indexOf(envelope)
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
              numberedMessage({ key }, from + offset),
            )
            yield* publishUntilTaken(bus, envelopes, () => failures++)
          }
        }),
      { concurrency: "unbounded", discard: true },
    ).pipe(Effect.forkScoped)
    for (const { afterDeliveries, isAway } of kills) {
      yield* until(`${afterDeliveries} deliveries`, () => deliveries >= afterDeliveries, 60_000)
      const failuresBefore = failures
      yield* Effect.promise(() => broker.kill9())
      isAway.openUnsafe()
      yield* until("a publish fails", () => failures > failuresBefore)
      yield* Effect.promise(() => broker.restart())
      yield* untilSample(bus, "the bus is connected again", ({ isConnected }) => isConnected)
    }
    yield* until("all is published", () => publishing.pollUnsafe() !== undefined, 60_000)
    const complete = () => [...handled.values()].every((seen) => seen.length === perKey)
    yield* until("every message is handled", () => handled.size === keys && complete(), 60_000)
    yield* untilNothingIsLeft(bus)
    expect(outOfOrder).toEqual([])
    expect(listener.events("undeliverable")).toBe(0)
  })

/** `connections`: of a bus to the broker. It logs the loss of each, and its return. */
export const brokerKilledTwice = async (
  rig: BrokerRig,
  { connections, intake = faultIntake }: { readonly connections: number; readonly intake?: IntakeOptions },
): Promise<void> => {
  const logs = keptLogs()
  const bus = rig.bus({ intake, publishTimeoutMs: 1_000 })
  await withBusOf(bus, (opened) => killedTwice(opened, rig), logs.layer)
  const logged = (text: string) => logs.lines.filter((line) => line.includes(text)).length
  expect(logged("is lost")).toBe(2 * connections)
  expect(logged("again")).toBe(2 * connections)
  // Subscriptions read again at once, without waiting for a missing sign of life.
  expect(logged("no heartbeat")).toBe(0)
}

/** 50 tenants with 100 keys each. */
export const manyKeys = (bus: Bus["Service"]): Effect.Effect<void, BusError | PublishError, Scope.Scope> =>
  Effect.gen(function* () {
    const perKey = 3
    const running = new Set<string>()
    const overlapping: Array<string> = []
    const handled = new Map<string, Array<number>>()
    let count = 0
    const listener = new Listener(({ envelope }) =>
      Effect.gen(function* () {
        const key = `${envelope.tenantId}.${envelope.aggregateId}`
        if (running.has(key)) overlapping.push(key)
        running.add(key)
        yield* Effect.yieldNow
        handled.set(key, [...(handled.get(key) ?? []), indexOf(envelope)])
        running.delete(key)
        count++
      }),
    )
    yield* bus.subscribe(listener.subscription)
    const keys = Array.from({ length: 5_000 }, (_, number) => ({
      tenant: `tenant-${number % 50}`,
      key: `call-${Math.floor(number / 50)}`,
    }))
    const messages = Array.from({ length: perKey }, (_, index) =>
      keys.map((key) => numberedMessage(key, index)),
    ).flat()
    yield* bus.publish(messages)
    yield* until("all are handled", () => count === messages.length)
    expect(overlapping).toEqual([])
    expect(handled.size).toBe(5_000)
    for (const indexes of handled.values()) expect(indexes).toEqual([0, 1, 2])
    yield* untilNothingIsLeft(bus)
  })

/** What else must survive a kill of the broker. */
export interface AroundKill {
  before(bus: Bus["Service"]): Effect.Effect<void, unknown, Scope.Scope>
  after(bus: Bus["Service"]): Effect.Effect<void, unknown, Scope.Scope>
}

/**
 * The broker is away: a publish fails in bounded time, and a bus that starts waits. `waitsWithinStart`: a start that has
 * the time waits for the broker, too, instead of going on without it.
 */
export const awayAndBack = (
  rig: BrokerRig,
  { waitsWithinStart, around }: { readonly waitsWithinStart: boolean; readonly around?: AroundKill },
): Promise<void> =>
  withBusOf(rig.bus({ intake: slowRetries, publishTimeoutMs: 300 }), (bus) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* bus.subscribe(listener.subscription)
      if (around !== undefined) yield* around.before(bus)
      yield* Effect.promise(() => rig.kill9())
      const message = sampleMessage()
      const failure = yield* Effect.flip(bus.publish([message]))
      expect(failure.isPermanent).toBe(false)
      expect((yield* bus.sample(groups[0])).isConnected).toBe(false)
      const started = yield* Layer.build(rig.bus({ onRefused: () => {} }))
      const late = Context.get(started, Bus)
      expect(late.whyWaiting()).toContain("Cannot connect")
      const waiting = yield* Effect.forkScoped(
        waitsWithinStart ? Layer.build(rig.bus({ connectTimeoutMs: 60_000 })) : Effect.void,
      )
      yield* Effect.promise(() => rig.restart())
      if (around !== undefined) yield* around.after(bus)
      yield* publishUntilTaken(bus, [message], () => {})
      const ofLate = sampleMessage()
      yield* publishUntilTaken(late, [ofLate], () => {})
      yield* Fiber.join(waiting)
      yield* until("both are handled", () =>
        [message, ofLate].every(({ id }) => listener.askedIds.includes(id)),
      )
      yield* untilNothingIsLeft(bus)
      if (bus.abilities.dropsRepeats) expect(listener.askedIds).toEqual([message.id, ofLate.id])
    }),
  )

/** For brokers at which every message has an acknowledgement of its own. */
export const acknowledgementLost = async (rig: BrokerRig, intake: IntakeOptions): Promise<void> => {
  await using proxied = await rig.proxied()
  const { network } = proxied
  await withBusOf(proxied.bus({ intake }), (bus) =>
    Effect.gen(function* () {
      const listener = new Listener(({ delivery }) =>
        Effect.sync(() => {
          if (delivery === 1) network.blackholeToServer()
        }),
      )
      yield* bus.subscribe(listener.subscription)
      yield* bus.publish([sampleMessage()])
      yield* until("the acknowledgement is lost", () => network.droppedBytes > 0)
      network.cut()
      network.heal()
      yield* until("it is handled again", () => listener.asked.length === 2)
      yield* untilNothingIsLeft(bus)
      expect(listener.deliveries).toEqual([1, 2])
    }),
  )
}

export const slowNetwork = async (rig: BrokerRig): Promise<void> => {
  await using proxied = await rig.proxied()
  await withBusOf(proxied.bus({ intake: { ...faultIntake, ackWaitMs: 20_000 } }), (bus) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* bus.subscribe(listener.subscription)
      proxied.network.slow(50)
      const messages = Array.from({ length: 20 }, () => sampleMessage())
      yield* bus.publish(messages)
      yield* until("all are handled", () => listener.asked.length >= 20)
      yield* untilNothingIsLeft(bus)
      expect(listener.askedIds).toEqual(messages.map(({ id }): string => id))
      expect(new Set(listener.deliveries)).toEqual(new Set([1]))
    }),
  )
}

export const handlerFails = Effect.fail(new MessageFailed({ message: "not yet" }))

/** A message that failed has a delay of 700 ms. The subscription that it failed at ends before that. */
export const delayAtBroker = (rig: BrokerRig, untilItWaits: () => Promise<unknown>): Promise<void> => {
  const retryDelaysMs = [700, 700, 700, 700]
  return withBusOf(rig.bus({ intake: { ...faultIntake, ackWaitMs: 10_000, retryDelaysMs } }), (bus) =>
    Effect.gen(function* () {
      const unable = new Listener(() => handlerFails)
      const first = yield* Scope.make()
      yield* bus.subscribe(unable.subscription).pipe(Scope.provide(first))
      yield* bus.publish([sampleMessage()])
      yield* until("it has failed", () => unable.asked.length === 1)
      yield* Effect.promise(untilItWaits)
      yield* Scope.close(first, Exit.void)
      const next = new Listener()
      yield* bus.subscribe(next.subscription)
      yield* until("the next gets it", () => next.asked.length === 1)
      expect(next.deliveries).toEqual([2])
      expect((next.asked[0]?.atMs ?? 0) - (unable.asked[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(700)
      yield* untilNothingIsLeft(bus)
    }),
  )
}

/** A message that was published before any group existed. */
export const keptForLater = (rig: BrokerRig): Promise<void> =>
  withBusOf(rig.bus({ intake: quickIntake }), (bus) =>
    Effect.gen(function* () {
      const early = sampleMessage()
      yield* bus.publish([early])
      for (const group of groups) {
        const listener = new Listener(undefined, undefined, { group })
        yield* bus.subscribe(listener.subscription)
        yield* until(`the group ${group} gets it`, () => listener.asked.length > 0)
        expect(listener.askedIds).toEqual([early.id])
      }
    }),
  )

/**
 * Two nodes of a group hold messages that nobody has answered yet. `counts`: which of them the lag of a node counts.
 * `heldAtMost`: of one node. It must leave some of the 40 messages for the other.
 */
export const lagOfTwoNodes = (
  rig: BrokerRig,
  { counts, heldAtMost }: { readonly counts: "all" | "own"; readonly heldAtMost: number },
): Promise<void> => {
  const intake = { ...faultIntake, ackWaitMs: 60_000, heldAtMost }
  return withBusOf(rig.bus({ intake }), (one) =>
    Effect.gen(function* () {
      const two = Context.get(yield* Layer.build(rig.bus({ intake })), Bus)
      const gate = Latch.makeUnsafe(false)
      const listeners = [new Listener(() => gate.await), new Listener(() => gate.await)]
      const buses = [one, two]
      for (const [index, bus] of buses.entries()) {
        yield* bus.subscribe((listeners[index] ?? new Listener()).subscription)
      }
      const messages = Array.from({ length: 40 }, (_, key) => sampleMessage({ key: `call-${key}` }))
      yield* one.publish(messages)
      const lags = Effect.map(
        Effect.forEach(buses, (bus) => bus.sample(groups[0])),
        (samples) => samples.map(({ lag }) => lag),
      )
      yield* untilTrue(
        "each message is counted",
        Effect.map(lags, ([first = 0, second = 0]) => {
          if (!listeners.every(({ asked }) => asked.length > 0)) return false
          return counts === "all"
            ? first === messages.length && second === messages.length
            : first > 0 && second > 0 && first + second === messages.length
        }),
      )
      gate.openUnsafe()
      for (const bus of buses) yield* untilNothingIsLeft(bus)
    }),
  )
}
