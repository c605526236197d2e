// Many timers due in the same instant, as events on a JetStream stream on disk, until the last one is settled;
// against bare publishes of the same bytes to the same server, each acknowledged: as many at once as Punctual has
// in flight for one namespace, and many more.
import { jetstream } from "@nats-io/jetstream"
import { connect, headers } from "@nats-io/transport-node"
import { defaultIntakeOptions } from "@punctual/server/buses/Intake"
import { NatsBus } from "@punctual/server/buses/nats/NatsBus"
import { makeEventDeliverer } from "@punctual/server/deliverers/event/EventDeliverer"
import { Bus } from "@punctual/server/ports/Bus"
import { Deliverers } from "@punctual/server/ports/Deliverer"
import { WallClock } from "@punctual/server/ports/WallClock"
import { NatsServer } from "@punctual/server/testkit/NatsServer"
import { Effect, Layer } from "effect"
import { atLeast, type Benchmark, compareRates } from "../Benchmark.ts"
import { handlerSpec, withEngine } from "../EngineOnDisk.ts"
import { fireAll } from "../fireAll.ts"
import { payload } from "../work.ts"

const fewAtOnce = 64
const manyAtOnce = 1_000

export const P5: Benchmark = {
  id: "P5",
  title: "100,000 due at once to JetStream, until settled",
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 20_000 : 100_000
    await using server = await NatsServer.start()
    const rates = await compareRates(
      [
        {
          name: "Punctual",
          perSecond: () =>
            withEngine(
              (engine) => fireAll(engine, timers, { ...handlerSpec, target: { type: "event" } }),
              toStream(server),
            ),
        },
        {
          name: `bare publishes, ${fewAtOnce} at once`,
          perSecond: () => publishAll(server, timers, fewAtOnce),
        },
        {
          name: `bare publishes, ${manyAtOnce} at once`,
          perSecond: () => publishAll(server, timers, manyAtOnce),
        },
      ],
      scale,
      progress,
    )
    const [ours = Number.NaN, ...bare] = rates.medians
    return {
      rows: rates.rows,
      verdicts: [atLeast("of the faster bare publishes", ours / Math.max(...bare), 0.6)],
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
        publishTimeoutMs: 10_000,
        connectTimeoutMs: 10_000,
      }),
    ),
    Layer.provide(WallClock.system),
  )

/** Into the stream that Punctual has made. */
const publishAll = async (server: NatsServer, messages: number, atOnce: number): Promise<number> => {
  const connection = await connect({ servers: server.address })
  try {
    const stream = jetstream(connection)
    const ids = Array.from({ length: messages }, () => Bun.randomUUIDv7())
    let started = 0
    const startedAt = performance.now()
    const publisher = async () => {
      for (let id = ids[started++]; id !== undefined; id = ids[started++]) {
        const head = headers()
        head.set("tenantId", "bench")
        head.set("serviceCallId", id)
        head.set("correlationId", id)
        const now = Date.now()
        const body = JSON.stringify({
          id,
          type: "DueTimeReached",
          tenantId: "bench",
          aggregateId: id,
          timestampMs: now,
          correlationId: id,
          payload: {
            tenantId: "bench",
            serviceCallId: id,
            reachedAt: new Date(now).toISOString(),
            payload: sent,
          },
        })
        const answer = await stream.publish("svc.bench.serviceCall", body, { msgID: id, headers: head })
        if (answer.duplicate) throw new Error("the broker had this message already")
      }
    }
    await Promise.all(Array.from({ length: atOnce }, publisher))
    return (messages / (performance.now() - startedAt)) * 1_000
  } finally {
    await connection.close()
  }
}

const sent: unknown = JSON.parse(payload.toString())
