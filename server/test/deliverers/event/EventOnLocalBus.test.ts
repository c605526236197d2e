// Timers that fire on a bus inside the process, through the whole engine. They reach the subscribers in this process.
// Without a subscriber they wait and use no attempt.
import { expect, test } from "bun:test"
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { Bus, MessageFailed, type Subscription } from "@punctual/bus/Bus"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { Effect, Layer, Logger, type Scope } from "effect"
import { makeEventDeliverer } from "../../../src/deliverers/event/EventDeliverer.ts"
import { makeHandlerDeliverer } from "../../../src/deliverers/handler/HandlerDeliverer.ts"
import type { Target } from "../../../src/domain/Timer.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { Scheduler } from "../../../src/engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../../../src/engine/namespaces/NamespaceDirectory.ts"
import { timerRouting, timerTopics } from "../../../src/messaging/timerRouting.ts"
import { type Deliverer, Deliverers } from "../../../src/ports/Deliverer.ts"
import { Ids } from "../../../src/ports/Ids.ts"
import { WallClock } from "../../../src/ports/WallClock.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { eventually } from "../../../testkit/eventually.ts"

const topics = timerTopics("shared")

interface Rig {
  /** Creates a timer that is due now. */
  create(timerId: string, type: "event" | "handler"): Effect.Effect<void, unknown>
  subscribe(handle: Subscription["handle"]): Effect.Effect<void, unknown, Scope.Scope>
  stateOf(timerId: string): Promise<{ readonly state: string; readonly attempts: number } | undefined>
  /** Waits until a timer that is due now and needs no bus has been delivered. */
  readonly passDue: Effect.Effect<void, unknown>
}

const withEngine = (body: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>): Promise<void> => {
  const deliverers = Layer.effect(
    Deliverers,
    Effect.map(Bus, (bus) => {
      const handler = makeHandlerDeliverer()
      handler.on("orders", () => {})
      const byType = new Map<Target["type"], Deliverer>([
        ["event", makeEventDeliverer(bus)],
        ["handler", handler],
      ])
      return { byType }
    }),
  )
  const layer = Engine.layer().pipe(
    Layer.provideMerge(deliverers),
    Layer.provideMerge(LocalBus.layer(timerRouting(topics))),
    Layer.provideMerge(WallClock.system),
    Layer.provideMerge(NamespaceDirectory.layer()),
    Layer.provideMerge(MemoryStore.layer({ shards: 1 })),
    Layer.provide(Ids.system),
  )
  return Effect.gen(function* () {
    const scheduler = yield* Scheduler
    const bus = yield* Bus
    const create: Rig["create"] = (timerId, type) =>
      Effect.asVoid(
        scheduler.create({
          namespace: "orders",
          timerId,
          executeAt: Date.now(),
          spec: { target: { type }, retryPolicy: defaultRetryPolicy },
          onExisting: "fail",
        }),
      ).pipe(Effect.retry({ times: 100 }))
    const stateOf: Rig["stateOf"] = async (timerId) => {
      const view = await Effect.runPromise(scheduler.get("orders", timerId))
      if (view === undefined) return undefined
      return { state: view.state, attempts: "timer" in view ? view.timer.attempts : view.life.attempts }
    }
    const passDue = Effect.andThen(
      create("sentinel", "handler"),
      Effect.promise(() =>
        eventually("the sentinel is delivered", async () =>
          (await stateOf("sentinel"))?.state === "delivered" ? true : undefined,
        ),
      ),
    )
    const subscribe: Rig["subscribe"] = (handle) =>
      bus.subscribe({
        group: "orders",
        topic: topics.events,
        types: new Set(["DueTimeReached"]),
        handle,
        observe: () => {},
      })
    yield* body({ create, subscribe, stateOf, passDue })
  }).pipe(Effect.scoped, Effect.provide(layer), Effect.provide(Logger.layer([])), Effect.runPromise)
}

test("a timer waits while there is no subscriber, uses no attempt, and fires when there is one", () =>
  withEngine(({ create, subscribe, stateOf, passDue }) =>
    Effect.gen(function* () {
      yield* create("call-1", "event")
      yield* passDue
      expect(yield* Effect.promise(() => stateOf("call-1"))).toEqual({ state: "pending", attempts: 0 })
      const heard: Array<string> = []
      yield* subscribe(({ envelope }) => Effect.sync(() => heard.push(envelope.aggregateId)))
      yield* Effect.promise(() =>
        eventually("it is delivered", async () =>
          (await stateOf("call-1"))?.state === "delivered" ? true : undefined,
        ),
      )
      expect(heard).toEqual(["call-1"])
      expect(yield* Effect.promise(() => stateOf("call-1"))).toEqual({ state: "delivered", attempts: 1 })
    }),
  ))

test("a timer stays pending until its subscriber has handled it", () =>
  withEngine(({ create, subscribe, stateOf }) =>
    Effect.gen(function* () {
      let deliveries = 0
      yield* subscribe(({ delivery }) => {
        deliveries = delivery
        return delivery === 1 ? Effect.fail(new MessageFailed({ message: "not yet" })) : Effect.void
      })
      yield* create("call-1", "event")
      yield* Effect.promise(() => eventually("it is heard", () => (deliveries === 1 ? true : undefined)))
      expect((yield* Effect.promise(() => stateOf("call-1")))?.state).toBe("inFlight")
      yield* Effect.promise(() =>
        eventually("it is delivered", async () =>
          (await stateOf("call-1"))?.state === "delivered" ? true : undefined,
        ),
      )
      expect(deliveries).toBe(2)
      expect(yield* Effect.promise(() => stateOf("call-1"))).toEqual({ state: "delivered", attempts: 1 })
    }),
  ))
