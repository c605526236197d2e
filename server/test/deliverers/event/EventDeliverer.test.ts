import { describe, expect, test } from "bun:test"
import { Bus, type Message, PublishError } from "@punctual/bus/Bus"
import type { OutgoingEnvelope } from "@punctual/bus/Envelope"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { MessageMetadata } from "@punctual/bus/MessageMetadata"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeEventDeliverer } from "../../../src/deliverers/event/EventDeliverer.ts"
import { timerRouting, timerTopics } from "../../../src/messaging/timerRouting.ts"
import type { Fire } from "../../../src/ports/Deliverer.ts"

const topics = timerTopics("shared")

const fire: Fire = {
  namespace: "orders",
  timerId: "call-1",
  fireId: "01890a5d-ac96-774b-bcce-b302099a8057",
  attempt: 2,
  maxAttempts: 10,
  epoch: 7,
  revision: 3,
  executeAt: 1_800_000_000_000,
  firedAt: 1_800_000_000_005,
  correlationId: "flow-1",
  target: { type: "event" },
  payload: new TextEncoder().encode('{ "n": 12345678901234567890.10 }'),
}

/** A bus whose publishing ends as the test says. It keeps the published messages. */
const busThat = (publishing: Effect.Effect<void, PublishError>) => {
  const published: Array<OutgoingEnvelope> = []
  const bus = {
    publish: (envelopes: ReadonlyArray<OutgoingEnvelope>) => {
      published.push(...envelopes)
      return Effect.as(
        publishing,
        envelopes.map(() => ({ isDuplicate: false })),
      )
    },
    subscribe: () => Effect.void,
    abilities: {
      delays: true,
      dropsRepeats: true,
      retriesInOrder: false,
      countsUnanswered: true,
      listsUndeliverable: true,
    },
    sample: () => Effect.never,
    whyWaiting: () => undefined,
  } as const
  return { published, deliverer: makeEventDeliverer(bus) }
}

describe("a timer for the bus", () => {
  test("is sent when it is handed to the bus, and not earlier", async () => {
    const sent: Array<string> = []
    const { deliverer } = busThat(Effect.sync(() => sent.push("published")))
    const delivery = deliverer.deliver(fire, () => sent.push("sent"))
    expect(sent).toEqual([])
    await Effect.runPromise(delivery)
    expect(sent).toEqual(["sent", "published"])
  })

  test("that tells of a dead timer says in its payload which one, and how it ended", async () => {
    const { published, deliverer } = busThat(Effect.void)
    const death = {
      timerId: "call-0",
      fireId: "f",
      revision: 2,
      executeAt: 5,
      reason: "expired",
      attempts: 0,
    }
    await Effect.runPromise(deliverer.deliver({ ...fire, timerId: "_dead.f", death, tags: ["t"] }))
    const [envelope] = published
    expect(envelope).toMatchObject({ id: fire.fireId as never, aggregateId: "_dead.f" as never })
    expect(envelope?.payloadJson).toEndWith('"payload":{ "n": 12345678901234567890.10 }}}')
    expect(JSON.parse(envelope?.payloadJson ?? "")).toMatchObject({
      serviceCallId: "_dead.f",
      payload: {
        ...death,
        type: "timer.dead",
        namespace: "orders",
        executeAt: "1970-01-01T00:00:00.005Z",
        correlationId: "flow-1",
        tags: ["t"],
      },
    })
  })

  test("is a DueTimeReached under its fireId, with its correlation id, no cause and the unchanged payload", async () => {
    const { published, deliverer } = busThat(Effect.void)
    // The current work has metadata of its own. The message must have the timer's.
    const delivery = await Effect.runPromise(
      Effect.provideService(deliverer.deliver(fire), MessageMetadata, { causationId: "other" as never }),
    )
    expect(delivery).toEqual({ kind: "delivered" })
    expect(published as ReadonlyArray<unknown>).toEqual([
      {
        id: fire.fireId,
        type: "DueTimeReached",
        tenantId: "orders",
        aggregateId: "call-1",
        timestampMs: fire.firedAt,
        correlationId: "flow-1",
        payloadJson:
          '{"tenantId":"orders","serviceCallId":"call-1","reachedAt":"2027-01-15T08:00:00.005Z","payload":{ "n": 12345678901234567890.10 }}',
      },
    ])
  })

  test("is retried and counted by the breaker if the broker did not take it, and is dead if the broker never will", async () => {
    const outcomeOf = (isPermanent: boolean) =>
      Effect.runPromise(
        busThat(Effect.fail(new PublishError({ message: "no answer", isPermanent }))).deliverer.deliver(fire),
      )
    expect(await outcomeOf(false)).toEqual({ kind: "retry", error: "no answer", isHostFailure: true })
    expect(await outcomeOf(true)).toEqual({ kind: "dead", reason: "refused", error: "no answer" })
  })

  test("is delivered only when the bus has it, and in process only after a subscriber has handled it", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const handled: Array<Message> = []
      yield* bus.subscribe({
        group: "orders",
        topic: topics.events,
        types: new Set(["DueTimeReached"]),
        handle: (message) =>
          Effect.andThen(
            Effect.sleep(500),
            Effect.sync(() => handled.push(message)),
          ),
        observe: () => {},
      })
      const delivering = yield* Effect.forkChild(makeEventDeliverer(bus).deliver(fire))
      yield* TestClock.adjust(499)
      expect(delivering.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      yield* Effect.yieldNow
      expect(handled[0]?.envelope.payload).toMatchObject({ serviceCallId: "call-1" })
      expect(delivering.pollUnsafe()).toBeDefined()
    }).pipe(
      Effect.scoped,
      Effect.provide(LocalBus.layer(timerRouting(topics))),
      Effect.provide(TestClock.layer()),
      Effect.runPromise,
    ))

  test("waits while there is no subscriber, if only this process can subscribe", () =>
    Effect.gen(function* () {
      const bus = yield* Bus
      const { presence } = makeEventDeliverer(bus)
      let arrivals = 0
      presence?.onArrival(() => {
        arrivals++
      })
      expect(presence?.isThere("orders")).toBe(false)
      yield* bus.subscribe({
        group: "orders",
        topic: topics.events,
        types: new Set(["DueTimeReached"]),
        handle: () => Effect.void,
        observe: () => {},
      })
      expect(presence?.isThere("orders")).toBe(true)
      expect(arrivals).toBe(1)
    }).pipe(Effect.scoped, Effect.provide(LocalBus.layer(timerRouting(topics))), Effect.runPromise))

  test("does not wait if other processes may subscribe", () => {
    expect(busThat(Effect.void).deliverer.presence).toBeUndefined()
  })
})
