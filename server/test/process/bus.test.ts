import { expect, test } from "bun:test"
import { randomUUID } from "node:crypto"
import { describeNats } from "@punctual/bus/testkit/NatsBinary"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { eventually } from "../../testkit/eventually.ts"
import { HistoryRecorder } from "../../testkit/History.ts"
import type { Heard } from "../../testkit/PlainBusClient.ts"
import { PlainBusClient } from "../../testkit/PlainBusClient.ts"
import { Receiver } from "../../testkit/Receiver.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"
import { BusRun } from "./BusRun.ts"

const key = (tenant: string, serviceCallId: string) => ({ namespace: tenant, timerId: serviceCallId })

const timerOf = async (run: BusRun, tenant: string, serviceCallId: string) => {
  const { body } = await run.call("/timers/get", key(tenant, serviceCallId))
  return (body as { readonly timer?: Record<string, unknown> }).timer
}

/** Waits until the service has settled it, so that no attempt is under way any more. */
const untilDelivered = (run: BusRun, tenant: string, serviceCallId: string) =>
  eventually(`${serviceCallId} is delivered`, async () =>
    (await timerOf(run, tenant, serviceCallId))?.["state"] === "delivered" ? true : undefined,
  )

describeNats("a service on a broker", () => {
  test("1,000 commands due within five seconds are each answered by one event, none early", async () => {
    await using run = await BusRun.start()
    const tenants = ["orders", "billing", "trial-2", "X_y"]
    const startsAtMs = Date.now() + 1_000
    const commands = Array.from({ length: 1_000 }, (_, index) => ({
      tenant: tenants[index % tenants.length] ?? "",
      // Dots, stars and what else would mean something in a subject are plain characters of an id.
      serviceCallId: `call.${index} *>é`,
      dueAtMs: startsAtMs + ((index * 7_919) % 5_000),
      correlationId: `flow-${index}`,
    }))
    await Promise.all(commands.map((command) => run.peer.schedule(command)))
    await eventually("every event", () => (run.peer.reached.length >= commands.length ? true : undefined))
    await Promise.all(
      commands.slice(0, 50).map(({ tenant, serviceCallId }) => untilDelivered(run, tenant, serviceCallId)),
    )
    const heard = new Map<string, ReadonlyArray<Heard>>()
    for (const event of run.peer.reached) {
      const id = `${event.envelope.tenantId} ${event.envelope.aggregateId}`
      heard.set(id, [...(heard.get(id) ?? []), event])
    }
    expect(heard.size).toBe(commands.length)
    for (const { tenant, serviceCallId, dueAtMs, correlationId } of commands) {
      const events = heard.get(`${tenant} ${serviceCallId}`) ?? []
      expect(events).toHaveLength(1)
      for (const { subject, messageId, storedAtMs, envelope, headers } of events) {
        expect(subject).toBe(`svc.${tenant}.serviceCall`)
        expect(messageId).toBe(envelope.id)
        expect(storedAtMs).toBeGreaterThanOrEqual(dueAtMs)
        expect(Date.parse(envelope.payload.reachedAt)).toBeGreaterThanOrEqual(dueAtMs)
        expect(envelope).toMatchObject({
          correlationId,
          payload: { tenantId: tenant, serviceCallId },
        })
        expect(envelope.causationId).toBeUndefined()
        expect(headers).toMatchObject({ tenantId: tenant, serviceCallId, correlationId })
      }
    }
    const received = tenants.map((tenant) =>
      run.service.metric(`timer_bus_received_total{tenant="${tenant}"}`),
    )
    expect(await Promise.all(received)).toEqual(tenants.map(() => 250))
    expect(await run.service.metric(`timer_bus_processed_total{tenant="orders"}`)).toBe(250)
    await eventually("the lag is gone", async () =>
      (await run.service.metric("timer_bus_lag_messages")) === 0 ? true : undefined,
    )
    expect(await run.service.metric("timer_bus_connected")).toBe(1)
    expect(await run.service.metric("timer_bus_unknown_types_total")).toBe(0)
  })

  test("a command again moves the due time; an older one does not; after the due time it changes nothing", async () => {
    await using run = await BusRun.start()
    const command = { tenant: "orders", serviceCallId: "call-1", correlationId: "flow" }
    const startedAtMs = Date.now()
    await run.peer.schedule({ ...command, dueAtMs: startedAtMs + 3_600_000, timestampMs: startedAtMs })
    const movedToMs = startedAtMs + 2_000
    await run.peer.schedule({ ...command, dueAtMs: movedToMs, timestampMs: startedAtMs + 2 })
    await run.peer.schedule({
      ...command,
      dueAtMs: startedAtMs + 7_200_000,
      timestampMs: startedAtMs + 1,
    })
    await untilDelivered(run, "orders", "call-1")
    const [event, ...others] = run.peer.reachedFor("call-1")
    expect(others).toEqual([])
    expect(event?.storedAtMs).toBeGreaterThanOrEqual(movedToMs)

    await run.peer.schedule({ ...command, dueAtMs: Date.now() + 3_600_000 })
    await run.peer.untilHandled()
    expect(await timerOf(run, "orders", "call-1")).toMatchObject({
      state: "delivered",
      executeAt: new Date(movedToMs).toISOString(),
    })
    expect(run.peer.reachedFor("call-1")).toHaveLength(1)
  })

  test("what HTTP made, the bus delivers, payload as it was; what the bus made, HTTP shows and cancels", async () => {
    await using run = await BusRun.start()
    const payload = '{ "amount": 12345678901234567890.10, "a":[ ] }'
    const made = await run.call(
      "/timers/create",
      `{"namespace":"orders","timerId":"by-http","delay":"10ms","target":{"type":"event"},"correlationId":"c-1","payload":${payload}}`,
    )
    expect(made.status).toBe(200)
    await untilDelivered(run, "orders", "by-http")
    const [event] = run.peer.reachedFor("by-http")
    expect(event?.text).toContain(`"payload":${payload}`)
    expect(event?.envelope.correlationId).toBe("c-1")

    await run.peer.schedule({ tenant: "orders", serviceCallId: "by-bus", dueAtMs: Date.now() + 3_600_000 })
    await run.peer.untilHandled()
    expect(await timerOf(run, "orders", "by-bus")).toMatchObject({
      state: "pending",
      target: { type: "event" },
    })
    const cancelled = await run.call("/timers/delete", key("orders", "by-bus"))
    expect(cancelled.body).toEqual({ result: "cancelled" })
  })

  test("a command moves a timer that HTTP made and leaves its target and payload alone", async () => {
    const recorder = new HistoryRecorder(() => Date.now())
    await using receiver = await Receiver.listening({ recorder })
    await using run = await BusRun.start()
    await run.call("/timers/create", {
      namespace: "orders",
      timerId: "hooked",
      delay: "1h",
      callbackUrl: `${receiver.url}/hook`,
      payload: { n: 1 },
    })
    await run.peer.schedule({ tenant: "orders", serviceCallId: "hooked", dueAtMs: Date.now() })
    await untilDelivered(run, "orders", "hooked")
    expect(run.peer.reachedFor("hooked")).toEqual([])
    expect(recorder.events.filter(({ kind }) => kind === "attempted")).toHaveLength(1)
  })

  test("killed between publish and settle it publishes again under the same id, and the broker drops that", async () => {
    await using run = await BusRun.start()
    await run.call("/timers/create", {
      namespace: "orders",
      timerId: "twice",
      delay: "1s",
      target: { type: "event" },
    })
    // From here on the broker hears the service, and the service does not hear that it was heard.
    run.proxy.blackholeFromServer()
    await eventually("the event", () => run.peer.reachedFor("twice")[0])
    await run.service.kill9()
    run.proxy.cut()
    run.proxy.heal()
    await run.service.start()
    await untilDelivered(run, "orders", "twice")
    expect(await timerOf(run, "orders", "twice")).toMatchObject({ attempts: 1 })
    // Whatever came after it would be there by now.
    await run.call("/timers/create", {
      namespace: "orders",
      timerId: "after",
      delay: "1ms",
      target: { type: "event" },
    })
    await eventually("a later event", () => run.peer.reachedFor("after")[0])
    const events = run.peer.reachedFor("twice")
    expect(events).toHaveLength(1)
    const timer = await timerOf(run, "orders", "twice")
    expect(events[0]?.messageId).toBe(String(timer?.["fireId"]))
  })

  test("the broker killed and restarted: what was asked before, during and after all fires", async () => {
    await using run = await BusRun.start()
    const soon = (serviceCallId: string) =>
      run.peer.schedule({ tenant: "orders", serviceCallId, dueAtMs: Date.now() + 1_500 })
    await soon("before")
    await run.peer.untilHandled()
    await run.broker.kill9()
    const whileAway = await run.call("/timers/create", {
      namespace: "orders",
      timerId: "during",
      delay: "1ms",
      target: { type: "event" },
      retryPolicy: { initialInterval: "200ms", backoffMultiplier: 1 },
    })
    expect(whileAway.status).toBe(200)
    await run.broker.restart()
    await soon("after")
    for (const serviceCallId of ["before", "during", "after"]) {
      await untilDelivered(run, "orders", serviceCallId)
    }
    expect(await run.service.metric("timer_bus_connected")).toBe(1)
  })

  test("a command that no retry can help is listed, shown and replayed by the running service", async () => {
    await using run = await BusRun.start()
    const tooFarMs = Date.now() + 20 * 366 * 86_400_000
    await run.peer.schedule({ tenant: "orders", serviceCallId: "too far", dueAtMs: tooFarMs })
    await run.peer.send("orders", "no JSON at all")
    await eventually("two undeliverable messages", async () =>
      (await run.service.metric('timer_bus_undeliverable_total{tenant="orders"}')) === 2 ? true : undefined,
    )
    expect(await run.service.metric("timer_bus_oldest_undeliverable_age_seconds")).toBeGreaterThan(0)

    const messages = (...args: ReadonlyArray<string>) =>
      ServiceProcess.command(["messages", ...args], { TIMER_URL: run.service.url })
    const listed = await messages("list", "--namespace", "orders", "--json")
    expect(listed.code).toBe(0)
    const { messages: kept } = JSON.parse(listed.stdout) as {
      readonly messages: ReadonlyArray<{ readonly id: string; readonly reason: string }>
    }
    expect(kept.map(({ reason }) => reason)).toEqual(["refused", "malformed"])
    const [refused, malformed] = kept
    const shown = await messages("show", "--namespace", "orders", refused?.id ?? "")
    expect(shown.stdout).toContain("dueAt must lie at most")
    const elsewhere = await messages("show", "--namespace", "billing", refused?.id ?? "")
    expect(elsewhere.code).toBe(1)
    // Replayed, it is refused again: a new undeliverable message in place of the old one.
    expect((await messages("replay", "--namespace", "orders", refused?.id ?? "")).code).toBe(0)
    await eventually("it is refused again", async () =>
      (await run.service.metric('timer_bus_undeliverable_total{tenant="orders"}')) === 3 ? true : undefined,
    )
    expect((await messages("discard", "--namespace", "orders", malformed?.id ?? "")).code).toBe(0)
    const rest = JSON.parse((await messages("list", "--namespace", "orders", "--json")).stdout)
    expect(rest.messages).toHaveLength(1)
    expect(rest.messages[0].id).not.toBe(refused?.id)
  })

  test("stopped in the middle of a stream of commands, it takes the rest when it is back", async () => {
    await using run = await BusRun.start()
    const dueAtMs = Date.now() + 3_600_000
    const commands = 2_000
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
    await run.peer.untilHandled()
    const { body } = await run.call("/timers/count", { namespace: "orders" })
    expect(body).toEqual({ count: asked, capped: false })
  })

  test("without a broker in reach, or with a stream that contradicts the contract, it says so and does not start", async () => {
    using folder = new TemporaryFolder()
    await using broker = await NatsServer.start()
    await using peer = await PlainBusClient.connected(broker.address)
    await peer.manager.streams.add({ name: "svc", subjects: ["svc.>"], max_msgs_per_subject: 1 })
    const start = async (url: string) => {
      const service = new ServiceProcess({ folder: folder.path, settings: { TIMER_BROKER_URL: url } })
      await service.start().catch(() => {})
      return { code: await service.exit, said: service.logs.join("\n") }
    }
    const contradicted = await start(broker.url)
    expect(contradicted.code).toBe(1)
    expect(contradicted.said).toContain("max_msgs_per_subject")
    await broker.stop()
    const unreachable = await start(`nats://user:secret-${randomUUID()}@${broker.address}`)
    expect(unreachable.code).toBe(1)
    expect(unreachable.said).toContain(broker.address)
    expect(unreachable.said).not.toContain("secret-")
  })
})
