// Many timers due in the same instant, as events on a JetStream stream on disk, until the last one is settled. They are
// compared with bare publishes of the same bytes to the same server, each acknowledged: once with as many at a time as
// Punctual has in flight for one namespace, once with many more, and once while a thread empties the store's tables.

import { Bus } from "@punctual/bus/Bus"
import { defaultIntakeOptions } from "@punctual/bus/IntakeOptions"
import { NatsBus } from "@punctual/bus/nats/NatsBus"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { makeEventDeliverer } from "@punctual/server/deliverers/event/EventDeliverer"
import { timerRouting, timerTopics } from "@punctual/server/messaging/timerRouting"
import { Deliverers } from "@punctual/server/ports/Deliverer"
import { Effect, Layer, Logger } from "effect"
import { atLeast, type Benchmark, told } from "../Benchmark.ts"
import { EmptyingThread } from "../bare/EmptyingThread.ts"
import { publishAll } from "../bare/publishAll.ts"
import { compareRates } from "../compareRates.ts"
import { handlerSpec, withEngine } from "../EngineOnDisk.ts"
import { fireAll } from "../fireAll.ts"
import { punctualTerms } from "../PunctualWork.ts"
import type { StoreKind } from "../Service.ts"

const fewAtOnce = 64
const manyAtOnce = 1_000
const few = `bare publishes, ${fewAtOnce} at once`
const many = `bare publishes, ${manyAtOnce} at once`
const combined = `bare publishes, ${manyAtOnce} at once, beside bare select and delete`
const streamTerms = "stream on disk, each publish acknowledged"

export const P5: Benchmark = {
  id: "P5",
  title: "100,000 due at once to JetStream, until all are settled",
  needs: ["nats"],
  uses: ["postgres", "nats"],
  hasPeers: false,
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 1_000 : 100_000
    await using server = await NatsServer.start()
    const fire = (kind: StoreKind, some: number) =>
      withEngine(
        kind,
        (engine) => fireAll(engine, some, { ...handlerSpec, target: { type: "event" } }),
        toStream(server),
      )
    // This creates the stream and warms up the client before any side is measured.
    await fire("sqlite", Math.min(2_000, timers / 2))
    await publishAll(server.address, Math.min(2_000, timers / 2), fewAtOnce)
    const rates = await compareRates(
      [
        {
          name: "Punctual, SQLite",
          terms: `${punctualTerms.sqlite}; ${streamTerms}`,
          measure: () => fire("sqlite", timers),
        },
        {
          name: "Punctual, PostgreSQL",
          terms: `${punctualTerms.postgres}; ${streamTerms}`,
          needs: ["postgres"],
          measure: () => fire("postgres", timers),
        },
        { name: few, terms: streamTerms, measure: () => publishAll(server.address, timers, fewAtOnce) },
        { name: many, terms: streamTerms, measure: () => publishAll(server.address, timers, manyAtOnce) },
        {
          name: combined,
          terms: `${streamTerms}; a thread selects and deletes as many rows in parallel, until both are done`,
          measure: async () => {
            using thread = await EmptyingThread.filled(timers)
            const startedAt = performance.now()
            await Promise.all([publishAll(server.address, timers, manyAtOnce), thread.empty()])
            return (timers / (performance.now() - startedAt)) * 1_000
          },
        },
      ],
      scale,
      progress,
    )
    const ours = rates.of("Punctual, SQLite")
    return {
      rows: rates.rows,
      verdicts: [
        atLeast("SQLite, of the faster bare publishes", ours / rates.best([few, many]), 0.6),
        told("SQLite, of bare publishes beside bare select and delete", ours / rates.of(combined)),
      ],
    }
  },
}

const toStream = (server: NatsServer) =>
  Layer.effect(
    Deliverers,
    Effect.map(Bus, (bus) => ({ byType: new Map([["event" as const, makeEventDeliverer(bus)]]) })),
  ).pipe(
    Layer.provide(
      NatsBus.layer({
        servers: [server.address],
        replicas: 1,
        isSynced: true,
        intake: defaultIntakeOptions,
        routing: timerRouting(timerTopics("shared")),
        stream: "svc",
        prefix: "svc",
        aggregateHeader: "serviceCallId",
        syncSetting: "TIMER_BROKER_SYNC=always",
        clientName: "punctual",
        publishTimeoutMs: 10_000,
        connectTimeoutMs: 10_000,
      }),
    ),
    Layer.provide(Logger.layer([])),
  )
