// Another product in the process of the service shares its bus and its keys, and starts and stops at the right moments.
import { expect, test } from "bun:test"
import { dueTimeReachedType } from "@punctual/api/DueTimeReached"
import { Bus } from "@punctual/bus/Bus"
import { sampleMessage } from "@punctual/bus/testkit/BusFixture"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { allBuses } from "../src/buses/all.ts"
import { type Companion, RunningCompanion } from "../src/ports/Companion.ts"
import { layerLogs } from "../src/program/Logs.ts"
import { type ServiceParts, serviceOf } from "../src/service.ts"
import { readConfiguration } from "../src/settings/Configuration.ts"
import { allStores } from "../src/stores/all.ts"

class Recorder {
  readonly steps: Array<string> = []
  url = ""

  async post(path: string, body: object): Promise<number> {
    const headers = { "content-type": "application/json" }
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    })
    await response.text()
    return response.status
  }
}

const companionOf = (recorder: Recorder, reached: Deferred.Deferred<string>): Companion => ({
  routes: () => ({ CompanionSaid: "companion" }),
  groups: () => [],
  unheardTypes: ["CompanionSaid"],
  layer: () =>
    Layer.effect(
      RunningCompanion,
      Effect.gen(function* () {
        const bus = yield* Bus
        const keys = yield* KeyDirectory
        yield* bus.subscribe({
          group: "companion",
          topic: "serviceCall",
          types: new Set([dueTimeReachedType]),
          handle: ({ envelope: { aggregateId } }) => Effect.asVoid(Deferred.succeed(reached, aggregateId)),
          observe: () => undefined,
        })
        recorder.steps.push("subscribed")
        return {
          open: Effect.gen(function* () {
            const published = yield* Effect.exit(bus.publish([sampleMessage({ type: "CompanionSaid" })]))
            recorder.steps.push(`opened, published: ${published._tag}, keys: ${keys.hasHadKey()}`)
            return "  companion  is there\n"
          }),
          drain: () =>
            Effect.promise(async () => {
              recorder.steps.push(
                `drained, the service answers ${await recorder.post("/api/v1/service/get", {})}`,
              )
            }),
        }
      }),
    ),
})

test("a companion listens before timers fire, opens after the start, and drains while the service still answers", async () => {
  const recorder = new Recorder()
  const lines = await Effect.gen(function* () {
    const reached = yield* Deferred.make<string>()
    const parts: ServiceParts = {
      environment: { TIMER_HTTP_PORT: "0", TIMER_STORE_URL: "memory:" },
      adapters: { stores: allStores, buses: allBuses },
      workerUrl: new URL("file:///no/worker.ts"),
      installDriver: () => Effect.void,
      companion: companionOf(recorder, reached),
      onFatal: (message) => {
        throw new Error(message)
      },
      writeError: () => undefined,
    }
    const read = readConfiguration(parts.environment, parts.adapters)
    if ("problems" in read) throw new Error(read.problems.join(" "))
    const started = yield* Deferred.make<string>()
    const isOver = yield* Deferred.make<void>()
    const service = yield* Effect.forkScoped(
      serviceOf(read.configuration, parts, {
        untilAsked: Deferred.await(isOver),
        onListening: ({ listening, companionLines }) => {
          recorder.url = listening.url
          return Effect.asVoid(Deferred.succeed(started, companionLines))
        },
      }),
    )
    const said = yield* Effect.raceFirst(
      Deferred.await(started),
      Effect.andThen(Fiber.join(service), Effect.die("it ended by itself")),
    )
    const timer = { namespace: "n", timerId: "t", delay: "0s", target: { type: "event" } }
    const status = yield* Effect.promise(() => recorder.post("/api/v1/timers/create", timer))
    recorder.steps.push(`created ${status}, reached ${yield* Deferred.await(reached)}`)
    yield* Deferred.succeed(isOver, undefined)
    yield* Fiber.join(service)
    return said
  }).pipe(Effect.scoped, Effect.provide(layerLogs("none", false)), Effect.runPromise)
  expect(lines).toBe("  companion  is there\n")
  expect(recorder.steps).toEqual([
    "subscribed",
    "opened, published: Success, keys: false",
    "created 200, reached t",
    "drained, the service answers 200",
  ])
})
