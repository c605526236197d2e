import { describe, expect, test } from "bun:test"
import { Cause, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type Handler, makeHandlerDeliverer } from "../../../src/deliverers/handler/HandlerDeliverer.ts"
import type { Delivery, Fire } from "../../../src/ports/Deliverer.ts"
import { sampleFire } from "../../../testkit/sampleFire.ts"

const fire = sampleFire({ type: "handler" })

const deliver = (handler: Handler): Promise<Delivery> => {
  const deliverer = makeHandlerDeliverer()
  deliverer.on("billing", handler)
  return Effect.runPromise(deliverer.deliver(fire))
}

describe("a handler", () => {
  test("is called right after the moment of sending", async () => {
    const seen: Array<string> = []
    const deliverer = makeHandlerDeliverer()
    deliverer.on("billing", () => void seen.push("called"))
    const delivery = deliverer.deliver(fire, () => seen.push("sent"))
    expect(seen).toEqual([])
    await Effect.runPromise(delivery)
    expect(seen).toEqual(["sent", "called"])
  })

  test("has delivered when it returns, resolves or succeeds with nothing", async () => {
    const seen: Array<Fire> = []
    const handlers: ReadonlyArray<Handler> = [
      (fire) => void seen.push(fire),
      async (fire) => void seen.push(fire),
      (fire) => Effect.sync(() => void seen.push(fire)),
    ]
    for (const handler of handlers) expect(await deliver(handler)).toEqual({ kind: "delivered" })
    expect(seen).toEqual([fire, fire, fire])
  })

  test("arms the timer again when it names a time", async () => {
    const answer = { next: { inMs: 5_000 }, payload: new Uint8Array([49]) }
    const rearm: Delivery = { kind: "rearm", ...answer }
    expect(await deliver(() => answer)).toEqual(rearm)
    expect(await deliver(async () => answer)).toEqual(rearm)
    expect(await deliver(() => Effect.succeed(answer))).toEqual(rearm)
  })

  test("may return any outcome as an Effect", async () => {
    const dead: Delivery = { kind: "dead", reason: "refused", error: "gone" }
    expect(await deliver(() => Effect.succeed(dead))).toEqual(dead)
  })

  test("is retried when it throws, rejects or dies, and the breaker does not count it", async () => {
    const failure = new Error("no stock")
    const handlers: ReadonlyArray<Handler> = [
      () => {
        throw failure
      },
      () => Promise.reject(failure),
      () => Effect.die(failure),
    ]
    for (const handler of handlers) {
      expect(await deliver(handler)).toEqual({
        kind: "retry",
        error: "the handler failed: no stock",
        isHostFailure: false,
      })
    }
  })

  test("is retried when it interrupts itself", async () => {
    expect(await deliver(() => Effect.interrupt)).toMatchObject({ kind: "retry", isHostFailure: false })
  })

  test("that fails is described in at most 200 characters", async () => {
    const delivery = await deliver(() => Promise.reject("x".repeat(1_000)))
    expect(delivery.kind === "retry" ? delivery.error.length : 0).toBe(200)
  })

  test("belongs to one namespace, and an attempt of a namespace without one fails as if the host were down", async () => {
    const deliverer = makeHandlerDeliverer()
    deliverer.on("other", () => {})
    expect(await Effect.runPromise(deliverer.deliver(fire))).toMatchObject({
      kind: "retry",
      isHostFailure: true,
    })
  })

  test("is replaced by the next one of its namespace", async () => {
    const deliverer = makeHandlerDeliverer()
    deliverer.on("billing", () => {
      throw new Error("the old one")
    })
    deliverer.on("billing", () => {})
    expect(await Effect.runPromise(deliverer.deliver(fire))).toEqual({ kind: "delivered" })
  })

  test("has a time limit", async () => {
    const program = Effect.gen(function* () {
      const deliverer = makeHandlerDeliverer({ timeoutMs: 15_000 })
      deliverer.on("billing", () => Effect.never)
      const fiber = yield* Effect.forkChild(deliverer.deliver(fire))
      yield* TestClock.adjust(15_000)
      return yield* Fiber.join(fiber)
    })
    expect(await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(TestClock.layer())))).toEqual({
      kind: "retry",
      error: "the handler took longer than 15s",
      isHostFailure: true,
    })
  })

  test("can be called at once, and then its attempt is over when it returns or throws", async () => {
    const seen: Array<string> = []
    const begin = (handler: Handler) => {
      const deliverer = makeHandlerDeliverer()
      deliverer.on("billing", handler)
      return deliverer.begin?.(fire, () => seen.push("sent"))
    }
    expect(begin(() => void seen.push("called"))).toEqual(Exit.succeed({ kind: "delivered" }))
    expect(seen).toEqual(["sent", "called"])
    const thrown = begin(() => {
      throw new Error("no")
    })
    const retry: Delivery = { kind: "retry", error: "the handler failed: no", isHostFailure: false }
    expect(thrown).toEqual(Exit.succeed(retry))
    const slow = begin(async () => {})
    expect(Exit.isExit(slow)).toBe(false)
    expect(await Effect.runPromise(slow ?? Effect.die("it has no begin"))).toEqual({ kind: "delivered" })
  })

  test("is interrupted with its attempt", async () => {
    const started = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const deliverer = makeHandlerDeliverer()
    deliverer.on("billing", () =>
      Effect.sync(started.resolve).pipe(
        Effect.andThen(Effect.never),
        Effect.onInterrupt(() => Effect.sync(ended.resolve)),
      ),
    )
    const fiber = Effect.runFork(deliverer.deliver(fire))
    await started.promise
    await Effect.runPromise(Fiber.interrupt(fiber))
    await ended.promise
    const exit = await Effect.runPromise(Fiber.await(fiber))
    expect(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)).toBe(true)
  })
})

test("callers can ask whether a namespace has a handler, and are told when it gets one", () => {
  const deliverer = makeHandlerDeliverer()
  let arrivals = 0
  deliverer.presence?.onArrival(() => {
    arrivals++
  })
  expect(deliverer.presence?.isThere("billing")).toBe(false)
  deliverer.on("billing", () => {})
  expect(deliverer.presence?.isThere("billing")).toBe(true)
  expect(deliverer.presence?.isThere("other")).toBe(false)
  expect(arrivals).toBe(1)
})
