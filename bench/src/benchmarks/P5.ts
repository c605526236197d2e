// Many timers due in the same instant, as events to a broker that keeps them on disk, until the last one is settled. P5
// uses a JetStream stream, P5R quorum queues of RabbitMQ, and P5K a topic of Kafka. They are compared with bare publishes
// of the same bytes to the same server, each acknowledged: once with as many at a time as Punctual has in flight for one
// namespace, once with many more, and once while a thread empties the store's tables.

import { Bus, type BusError } from "@punctual/bus/Bus"
import { defaultIntakeOptions } from "@punctual/bus/IntakeOptions"
import { KafkaBus } from "@punctual/bus/kafka/KafkaBus"
import { NatsBus } from "@punctual/bus/nats/NatsBus"
import { RabbitBus } from "@punctual/bus/rabbitmq/RabbitBus"
import { KafkaServer } from "@punctual/bus/testkit/KafkaServer"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { RabbitServer } from "@punctual/bus/testkit/RabbitServer"
import { makeEventDeliverer } from "@punctual/server/deliverers/event/EventDeliverer"
import { timerRouting, timerTopics } from "@punctual/server/messaging/timerRouting"
import { Deliverers } from "@punctual/server/ports/Deliverer"
import { Effect, Layer, Logger } from "effect"
import { atLeast, type Benchmark, told } from "../Benchmark.ts"
import { EmptyingThread } from "../bare/EmptyingThread.ts"
import { publishAll } from "../bare/publishAll.ts"
import { publishToKafka } from "../bare/publishToKafka.ts"
import { emptyRabbit, publishToRabbit } from "../bare/publishToRabbit.ts"
import { compareRates } from "../compareRates.ts"
import { handlerSpec, withEngine } from "../EngineOnDisk.ts"
import { fireAll } from "../fireAll.ts"
import { punctualTerms } from "../PunctualWork.ts"
import type { ServerName } from "../Servers.ts"
import type { StoreKind } from "../Service.ts"

const fewAtOnce = 64
const manyAtOnce = 1_000
const few = `bare publishes, ${fewAtOnce} at once`
const many = `bare publishes, ${manyAtOnce} at once`
const combined = `bare publishes, ${manyAtOnce} at once, beside bare select and delete`

/** A broker, and how the same bytes reach it with and without Punctual. */
interface EventBroker extends AsyncDisposable {
  readonly bus: Layer.Layer<Bus, BusError>
  /** Messages per second. */
  publishAll(messages: number, atOnce: number): Promise<number>
  /** Empties what the last measurement filled, if that matters. */
  empty(): Promise<void>
}

interface EventBenchmark {
  readonly id: string
  readonly title: string
  readonly server: ServerName
  readonly terms: string
  readonly target: number | undefined
  start(): Promise<EventBroker>
}

const eventBenchmark = ({ id, title, server, terms, target, start }: EventBenchmark): Benchmark => ({
  id,
  family: "P5",
  title,
  needs: [server],
  uses: ["postgres", server],
  hasPeers: false,
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 1_000 : 100_000
    await using broker = await start()
    const fire = async (kind: StoreKind, some: number) => {
      const spec = { ...handlerSpec, target: { type: "event" } } as const
      const rate = await withEngine(kind, (engine) => fireAll(engine, some, spec), deliverersTo(broker.bus))
      await broker.empty()
      return rate
    }
    const publish = async (atOnce: number, some = timers) => {
      const rate = await broker.publishAll(some, atOnce)
      await broker.empty()
      return rate
    }
    // This creates what the events go to, and warms up the client before any side is measured.
    await fire("sqlite", Math.min(2_000, timers / 2))
    await publish(fewAtOnce, Math.min(2_000, timers / 2))
    const rates = await compareRates(
      [
        {
          name: "Punctual, SQLite",
          terms: `${punctualTerms.sqlite}; ${terms}`,
          measure: () => fire("sqlite", timers),
        },
        {
          name: "Punctual, PostgreSQL",
          terms: `${punctualTerms.postgres}; ${terms}`,
          needs: ["postgres"],
          measure: () => fire("postgres", timers),
        },
        { name: few, terms, measure: () => publish(fewAtOnce) },
        { name: many, terms, measure: () => publish(manyAtOnce) },
        {
          name: combined,
          terms: `${terms}; a thread selects and deletes as many rows in parallel, until both are done`,
          measure: async () => {
            using thread = await EmptyingThread.filled(timers)
            const startedAt = performance.now()
            await Promise.all([broker.publishAll(timers, manyAtOnce), thread.empty()])
            const rate = (timers / (performance.now() - startedAt)) * 1_000
            await broker.empty()
            return rate
          },
        },
      ],
      scale,
      progress,
    )
    const ours = rates.of("Punctual, SQLite")
    const share = ours / rates.best([few, many])
    const label = "SQLite, of the faster bare publishes"
    return {
      rows: rates.rows,
      verdicts: [
        target === undefined ? told(label, share) : atLeast(label, share, target),
        told("SQLite, of bare publishes beside bare select and delete", ours / rates.of(combined)),
      ],
    }
  },
})

const common = {
  intake: defaultIntakeOptions,
  routing: timerRouting(timerTopics("shared")),
  prefix: "svc",
  aggregateHeader: "serviceCallId",
  clientName: "punctual",
  publishTimeoutMs: 10_000,
  connectTimeoutMs: 10_000,
}

export const P5 = eventBenchmark({
  id: "P5",
  title: "100,000 due at once to JetStream, until all are settled",
  server: "nats",
  terms: "stream on disk, each publish acknowledged",
  target: 0.6,
  start: async () => {
    const server = await NatsServer.start()
    return {
      bus: NatsBus.layer({
        ...common,
        servers: [server.address],
        replicas: 1,
        isSynced: true,
        stream: "svc",
        syncSetting: "TIMER_BROKER_SYNC=always",
      }),
      publishAll: (messages, atOnce) => publishAll(server.address, messages, atOnce),
      empty: async () => {},
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  },
})

const rabbitQueues = 8

export const P5R = eventBenchmark({
  id: "P5R",
  title: "100,000 due at once to RabbitMQ, until all are settled",
  server: "rabbitmq",
  terms: `${rabbitQueues} quorum queues on disk, each publish confirmed`,
  target: undefined,
  start: async () => {
    const server = await RabbitServer.start()
    return {
      bus: RabbitBus.layer({
        ...common,
        hosts: [{ host: server.host, port: server.port }],
        vhost: "/",
        queues: rabbitQueues,
      }),
      publishAll: (messages, atOnce) => publishToRabbit(server.url, messages, atOnce),
      empty: () => emptyRabbit(server.url, rabbitQueues),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  },
})

const kafkaPartitions = 12

export const P5K = eventBenchmark({
  id: "P5K",
  title: "100,000 due at once to Kafka, until all are settled",
  server: "kafka",
  terms: `${kafkaPartitions} partitions on one broker with a heap of 256 MiB, idempotent, acks=all`,
  target: undefined,
  start: async () => {
    const server = await KafkaServer.start()
    return {
      bus: KafkaBus.layer({
        ...common,
        servers: [server.address],
        topic: "service.events",
        mainTopic: "serviceCall",
        partitions: kafkaPartitions,
        replicas: 1,
      }),
      publishAll: (messages, atOnce) => publishToKafka(server.address, messages, atOnce),
      empty: async () => {},
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  },
})

const deliverersTo = (bus: Layer.Layer<Bus, BusError>) =>
  Layer.effect(
    Deliverers,
    Effect.map(Bus, (opened) => ({ byType: new Map([["event" as const, makeEventDeliverer(opened)]]) })),
  ).pipe(Layer.provide(bus), Layer.provide(Logger.layer([])))
