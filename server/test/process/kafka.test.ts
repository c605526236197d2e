import { afterAll, beforeAll, expect, test } from "bun:test"
import { randomUUID } from "node:crypto"
import { describeKafka, KafkaServer } from "@punctual/bus/testkit/KafkaServer"
import { eventually } from "../../testkit/eventually.ts"
import type { Heard } from "../../testkit/PlainBusClient.ts"
import { type KafkaPlaces, PlainKafkaClient } from "../../testkit/PlainKafkaClient.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import type { TcpProxy } from "../../testkit/TcpProxy.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

describeKafka("a service on Kafka", () => {
  let broker: KafkaServer
  let topics = 0
  beforeAll(async () => {
    broker = await KafkaServer.start()
  })
  afterAll(() => broker[Symbol.asyncDispose]())

  interface Run {
    readonly service: ServiceProcess
    readonly proxy: TcpProxy
    readonly peer: PlainKafkaClient
  }

  /** A service behind a proxy, and a peer that listens, with topics of their own. */
  const withRun = async (
    body: (run: Run) => Promise<void>,
    settings: Readonly<Record<string, string>> = {},
    placesOf: (topic: string) => KafkaPlaces = (topic) => ({ commands: topic, events: topic }),
  ): Promise<void> => {
    const topic = `t${++topics}.events`
    using folder = new TemporaryFolder()
    await using proxy = await broker.proxy()
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      settings: {
        TIMER_BROKER_URL: `kafka://${proxy.address}`,
        TIMER_BROKER_TOPIC: topic,
        TIMER_BROKER_PARTITIONS: "4",
        ...settings,
      },
    })
    await using peer = new PlainKafkaClient(broker.address, placesOf(topic))
    await peer.listen()
    await body({ service, proxy, peer })
  }

  const call = async ({ service }: Run, path: string, body: unknown): Promise<Record<string, unknown>> => {
    const response = await fetch(`${service.url}/api/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Record<string, unknown>
  }

  const timerOf = async (run: Run, timerId: string) => {
    const { timer } = await call(run, "/timers/get", { namespace: "orders", timerId })
    return timer as Record<string, unknown> | undefined
  }

  const untilDelivered = (run: Run, timerId: string) =>
    eventually(`${timerId} is delivered`, async () =>
      (await timerOf(run, timerId))?.["state"] === "delivered" ? true : undefined,
    )

  const untilMetric = ({ service }: Run, name: string, value: number) =>
    eventually(`${name} is ${value}`, async () => {
      // A counter exists from its first event on.
      const now = await service.metric(name).catch(() => undefined)
      return now === value ? true : undefined
    })

  test("1,000 commands due within three seconds get one event each, none early", () =>
    withRun(async (run) => {
      const tenants = ["orders", "billing", "trial-2", "X_y"]
      const startsAtMs = Date.now() + 1_000
      const commands = Array.from({ length: 1_000 }, (_, index) => ({
        tenant: tenants[index % tenants.length] ?? "",
        serviceCallId: `call.${index} *é`,
        dueAtMs: startsAtMs + ((index * 7_919) % 3_000),
        correlationId: `flow-${index}`,
      }))
      for (let from = 0; from < commands.length; from += 50) {
        await Promise.all(commands.slice(from, from + 50).map((command) => run.peer.schedule(command)))
      }
      await eventually("every event", () => (run.peer.reached.length >= commands.length ? true : undefined))
      const heard = new Map<string, ReadonlyArray<Heard>>()
      for (const event of run.peer.reached) {
        const id = `${event.envelope.tenantId} ${event.envelope.aggregateId}`
        heard.set(id, [...(heard.get(id) ?? []), event])
      }
      expect(heard.size).toBe(commands.length)
      for (const { tenant, serviceCallId, dueAtMs, correlationId } of commands) {
        const events = heard.get(`${tenant} ${serviceCallId}`) ?? []
        expect(events).toHaveLength(1)
        for (const { subject, messageId, envelope, headers } of events) {
          expect(subject).toBe(`t${topics}.events ${tenant}.${serviceCallId}`)
          expect(messageId).toBe(envelope.id)
          expect(Date.parse(envelope.payload.reachedAt)).toBeGreaterThanOrEqual(dueAtMs)
          expect(envelope).toMatchObject({ correlationId, payload: { tenantId: tenant, serviceCallId } })
          expect(headers).toMatchObject({ tenantId: tenant, serviceCallId, correlationId })
        }
      }
      await untilMetric(run, `timer_bus_processed_total{tenant="orders"}`, 250)
      await untilMetric(run, "timer_bus_lag_messages", 0)
      expect(await run.service.metric("timer_bus_connected")).toBe(1)
    }))

  test("killed between publish and settle it publishes again, under the same id", () =>
    withRun(async (run) => {
      const timer = { namespace: "orders", timerId: "twice", delay: "1s", target: { type: "event" } }
      await call(run, "/timers/create", timer)
      // From here on the broker gets the service's messages, but the service gets no answers.
      run.proxy.blackholeFromServer()
      await eventually("the event", () => run.peer.reachedFor("twice")[0])
      await run.service.kill9()
      run.proxy.cut()
      run.proxy.heal()
      await run.service.start()
      await untilDelivered(run, "twice")
      const events = await eventually("the repeat", () => {
        const some = run.peer.reachedFor("twice")
        return some.length >= 2 ? some : undefined
      })
      const fireId = String((await timerOf(run, "twice"))?.["fireId"])
      expect(new Set(events.map(({ messageId }) => messageId))).toEqual(new Set([fireId]))
    }))

  test("stopped in the middle of a stream of commands, it takes the rest after its restart", () =>
    withRun(async (run) => {
      const dueAtMs = Date.now() + 3_600_000
      const commands = 1_000
      let asked = 0
      const asking = Promise.all(
        Array.from({ length: 20 }, async () => {
          while (asked < commands) {
            await run.peer.schedule({ tenant: "orders", serviceCallId: `call-${asked++}`, dueAtMs })
          }
        }),
      )
      await eventually("some are there", () => (asked > commands / 4 ? true : undefined))
      expect(await run.service.terminate()).toBe(0)
      await asking
      await run.service.start()
      await eventually("all are handled", async () => {
        const { count } = await call(run, "/timers/count", { namespace: "orders" })
        return count === asked ? true : undefined
      })
    }))

  test("undeliverable messages are listed, shown, replayed and discarded by the commands", () =>
    withRun(async (run) => {
      const tooFarMs = Date.now() + 20 * 366 * 86_400_000
      await run.peer.schedule({ tenant: "orders", serviceCallId: "too far", dueAtMs: tooFarMs })
      await untilMetric(run, 'timer_bus_undeliverable_total{tenant="orders"}', 1)
      await run.peer.send("orders", "x", "no JSON at all")
      await untilMetric(run, 'timer_bus_undeliverable_total{tenant="orders"}', 2)
      await eventually("the oldest has an age", async () =>
        (await run.service.metric("timer_bus_oldest_undeliverable_age_seconds")) > 0 ? true : undefined,
      )
      const messages = (...args: ReadonlyArray<string>) =>
        ServiceProcess.command(["messages", ...args], { TIMER_URL: run.service.url })
      const listed = await messages("list", "--namespace", "orders", "--json")
      const { messages: kept } = JSON.parse(listed.stdout) as {
        readonly messages: ReadonlyArray<{ readonly id: string; readonly reason: string }>
      }
      expect(kept.map(({ reason }) => reason)).toEqual(["refused", "malformed"])
      const [refused, malformed] = kept
      const shown = await messages("show", "--namespace", "orders", refused?.id ?? "")
      expect(shown.stdout).toContain("dueAt must be at most")
      expect((await messages("show", "--namespace", "billing", refused?.id ?? "")).code).toBe(1)
      expect((await messages("replay", "--namespace", "orders", refused?.id ?? "")).code).toBe(0)
      await untilMetric(run, 'timer_bus_undeliverable_total{tenant="orders"}', 3)
      expect((await messages("discard", "--namespace", "orders", malformed?.id ?? "")).code).toBe(0)
      const rest = JSON.parse((await messages("list", "--namespace", "orders", "--json")).stdout)
      expect(rest.messages).toHaveLength(1)
      expect(rest.messages[0].id).not.toBe(refused?.id)
    }))

  test("it waits for a broker that is away at the start, recovers after a kill, and shows no password", async () => {
    await broker.kill9()
    using folder = new TemporaryFolder()
    const secret = `secret-${randomUUID()}`
    await using late = new ServiceProcess({
      folder: folder.path,
      settings: {
        TIMER_BROKER_URL: `kafka://ann:${secret}@${broker.address}?sasl=plain`,
        TIMER_BROKER_TOPIC: "late",
      },
    })
    await late.launch()
    const ready = await fetch(`${late.url}/health/ready`)
    expect(ready.status).toBe(503)
    expect(await ready.text()).toContain("Cannot connect to Kafka")
    await broker.restart()
    // The broker wants no user. Waiting does not help against that.
    expect(await late.fallen()).toBe(1)
    expect(late.logs.join("\n")).toContain("does not offer")
    expect(late.logs.join("\n")).not.toContain(secret)
    await withRun(async (run) => {
      const soon = (serviceCallId: string) =>
        run.peer.schedule({ tenant: "orders", serviceCallId, dueAtMs: Date.now() + 1_500 })
      await soon("before")
      await untilMetric(run, "timer_bus_lag_messages", 0)
      await broker.kill9()
      await call(run, "/timers/create", {
        namespace: "orders",
        timerId: "during",
        delay: "1ms",
        target: { type: "event" },
        retryPolicy: { initialInterval: "200ms", backoffMultiplier: 1 },
      })
      await broker.restart()
      await soon("after")
      for (const serviceCallId of ["before", "during", "after"]) await untilDelivered(run, serviceCallId)
      await untilMetric(run, "timer_bus_connected", 1)
    })
  })
})
