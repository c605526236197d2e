import { afterAll, beforeAll, describe, expect, test } from "bun:test"
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

/** Waits until the service has settled the timer, so that no attempt runs any more. */
const untilDelivered = (run: BusRun, tenant: string, serviceCallId: string) =>
  eventually(`${serviceCallId} is delivered`, async () =>
    (await timerOf(run, tenant, serviceCallId))?.["state"] === "delivered" ? true : undefined,
  )

describeNats("a service on a broker", () => {
  describe("that is not disturbed", () => {
    /** These tests leave the service and the broker as they are, so one run is enough for all. */
    let run: BusRun | undefined
    beforeAll(async () => {
      run = await BusRun.start()
    })
    afterAll(() => run?.[Symbol.asyncDispose]())
    const started = (): BusRun => {
      if (run === undefined) throw new Error("the run has not started")
      return run
    }

    test("1,000 commands due within three seconds get one event each, none early", async () => {
      const run = started()
      const tenants = ["crowd", "billing", "trial-2", "X_y"]
      const startsAtMs = Date.now() + 1_000
      const commands = Array.from({ length: 1_000 }, (_, index) => ({
        tenant: tenants[index % tenants.length] ?? "",
        // Dots, stars and other special characters of subjects are plain characters in an id.
        serviceCallId: `call.${index} *>é`,
        dueAtMs: startsAtMs + ((index * 7_919) % 3_000),
        correlationId: `flow-${index}`,
      }))
      await Promise.all(commands.map((command) => run.peer.schedule(command)))
      const events = () => run.peer.reached.filter(({ envelope }) => tenants.includes(envelope.tenantId))
      await eventually("every event", () => (events().length >= commands.length ? true : undefined))
      await Promise.all(
        commands.slice(0, 50).map(({ tenant, serviceCallId }) => untilDelivered(run, tenant, serviceCallId)),
      )
      const heard = new Map<string, ReadonlyArray<Heard>>()
      for (const event of events()) {
        const id = `${event.envelope.tenantId} ${event.envelope.aggregateId}`
        heard.set(id, [...(heard.get(id) ?? []), event])
      }
      expect(heard.size).toBe(commands.length)
      for (const { tenant, serviceCallId, dueAtMs, correlationId } of commands) {
        const ofCommand = heard.get(`${tenant} ${serviceCallId}`) ?? []
        expect(ofCommand).toHaveLength(1)
        for (const { subject, messageId, storedAtMs, envelope, headers } of ofCommand) {
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
      await eventually("all are processed", async () =>
        (await run.service.metric(`timer_bus_processed_total{tenant="crowd"}`)) === 250 ? true : undefined,
      )
      await eventually("the lag is gone", async () =>
        (await run.service.metric("timer_bus_lag_messages")) === 0 ? true : undefined,
      )
      expect(await run.service.metric("timer_bus_connected")).toBe(1)
      expect(await run.service.metric("timer_bus_unknown_types_total")).toBe(0)
    })

    test("a repeated command moves the due time, an older one does not, and after the due time it changes nothing", async () => {
      const run = started()
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

    test("the bus delivers timers of HTTP with their payload, and HTTP shows and cancels timers of the bus", async () => {
      const run = started()
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

    test("a command moves a timer that HTTP made, and keeps its target and payload", async () => {
      const recorder = new HistoryRecorder(() => Date.now())
      await using receiver = await Receiver.listening({ recorder })
      const run = started()
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

    test("a command that no retry can fix is listed, shown and replayed by the running service", async () => {
      const run = started()
      const tooFarMs = Date.now() + 20 * 366 * 86_400_000
      await run.peer.schedule({ tenant: "clerk", serviceCallId: "too far", dueAtMs: tooFarMs })
      await run.peer.send("clerk", "no JSON at all")
      await eventually("two undeliverable messages", async () =>
        (await run.service.metric('timer_bus_undeliverable_total{tenant="clerk"}')) === 2 ? true : undefined,
      )
      await eventually("the oldest has an age", async () =>
        (await run.service.metric("timer_bus_oldest_undeliverable_age_seconds")) > 0 ? true : undefined,
      )

      const messages = (...args: ReadonlyArray<string>) =>
        ServiceProcess.command(["messages", ...args], { TIMER_URL: run.service.url })
      const listed = await messages("list", "--namespace", "clerk", "--json")
      expect(listed.code).toBe(0)
      const { messages: kept } = JSON.parse(listed.stdout) as {
        readonly messages: ReadonlyArray<{ readonly id: string; readonly reason: string }>
      }
      expect(kept.map(({ reason }) => reason)).toEqual(["refused", "malformed"])
      const [refused, malformed] = kept
      const shown = await messages("show", "--namespace", "clerk", refused?.id ?? "")
      expect(shown.stdout).toContain("dueAt must be at most")
      const elsewhere = await messages("show", "--namespace", "billing", refused?.id ?? "")
      expect(elsewhere.code).toBe(1)
      // The replayed message is refused again: a new undeliverable message replaces the old one.
      expect((await messages("replay", "--namespace", "clerk", refused?.id ?? "")).code).toBe(0)
      await eventually("it is refused again", async () =>
        (await run.service.metric('timer_bus_undeliverable_total{tenant="clerk"}')) === 3 ? true : undefined,
      )
      expect((await messages("discard", "--namespace", "clerk", malformed?.id ?? "")).code).toBe(0)
      const rest = JSON.parse((await messages("list", "--namespace", "clerk", "--json")).stdout)
      expect(rest.messages).toHaveLength(1)
      expect(rest.messages[0].id).not.toBe(refused?.id)
    })

    test("a command cancels another, in either order of arrival, and can carry a payload", async () => {
      const run = started()
      const at = Date.now()
      const soon = (serviceCallId: string, timestampMs: number, more = {}) =>
        run.peer.schedule({ tenant: "orders", serviceCallId, dueAtMs: at + 1_500, timestampMs, more })
      const cancel = (serviceCallId: string, timestampMs: number) =>
        run.peer.cancel({ tenant: "orders", serviceCallId, timestampMs })
      await soon("after", at)
      await cancel("after", at + 1)
      await cancel("before", at + 1)
      await soon("before", at)
      await soon("newer", at + 2)
      await cancel("newer", at + 1)
      const tags = ["reminder"]
      await soon("kept", at, { payload: { n: 1 }, retryPolicy: { maxAttempts: 3 }, tags, later: "field" })
      await untilDelivered(run, "orders", "kept")
      await untilDelivered(run, "orders", "newer")
      expect(run.peer.reachedFor("kept")[0]?.envelope.payload.payload).toEqual({ n: 1 })
      expect(await timerOf(run, "orders", "kept")).toMatchObject({ retryPolicy: { maxAttempts: 3 } })
      for (const cancelled of ["after", "before"]) {
        expect((await timerOf(run, "orders", cancelled))?.["state"]).toBe("cancelled")
        expect(run.peer.reachedFor(cancelled)).toEqual([])
      }
    })
  })

  test("killed between publish and settle it publishes again under the same id, and the broker drops that", async () => {
    await using run = await BusRun.start()
    await run.call("/timers/create", {
      namespace: "orders",
      timerId: "twice",
      delay: "1s",
      target: { type: "event" },
    })
    // From here on the broker gets the service's messages, but the service gets no answers.
    run.proxy.blackholeFromServer()
    await eventually("the event", () => run.peer.reachedFor("twice")[0])
    await run.service.kill9()
    run.proxy.cut()
    run.proxy.heal()
    await run.service.start()
    await untilDelivered(run, "orders", "twice")
    expect(await timerOf(run, "orders", "twice")).toMatchObject({ attempts: 1 })
    // Any event after it would be there by now.
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

  test("timers from before, during and after a kill and restart of the broker all fire", async () => {
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

  test("stopped in the middle of a stream of commands, it takes the rest after its restart", async () => {
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

  test("commands and events have their own subjects, on the operator's stream and below the operator's prefix", async () => {
    await using broker = await NatsServer.start()
    using folder = new TemporaryFolder()
    await using service = await ServiceProcess.ready({
      folder: folder.path,
      settings: {
        TIMER_BROKER_URL: broker.url,
        TIMER_BROKER_STREAM: "calls",
        TIMER_BROKER_PREFIX: "prod",
        TIMER_BROKER_SUBJECTS: "split",
      },
    })
    const [commands, events] = ["serviceCall.commands", "serviceCall.events"]
    await using peer = await PlainBusClient.connected(broker.address, {
      stream: "calls",
      prefix: "prod",
      commands: commands ?? "",
      events: events ?? "",
    })
    await peer.listen()
    await peer.schedule({ tenant: "orders", serviceCallId: "call-1", dueAtMs: Date.now() })
    await peer.send("orders", "no JSON at all")
    await eventually("the event", () => (peer.reachedFor("call-1").length > 0 ? true : undefined))
    expect(peer.reachedFor("call-1")[0]?.subject).toBe("prod.orders.serviceCall.events")
    const { config } = await peer.manager.consumers.info("calls", "punctual")
    expect(config.filter_subject).toBe("prod.*.serviceCall.commands")
    await eventually("the undeliverable message", async () =>
      (await service.metric('timer_bus_undeliverable_total{tenant="orders"}')) === 1 ? true : undefined,
    )
    const listed = await ServiceProcess.command(["messages", "list", "--json"], { TIMER_URL: service.url })
    expect(JSON.parse(listed.stdout).messages).toMatchObject([{ namespace: "orders", reason: "malformed" }])
  })

  test("the service waits for a broker that is unreachable at the start, is not ready until then, and says why", async () => {
    using folder = new TemporaryFolder()
    await using broker = await NatsServer.start()
    await broker.stop()
    await using service = new ServiceProcess({
      folder: folder.path,
      settings: { TIMER_BROKER_URL: `nats://user:secret-${randomUUID()}@${broker.address}` },
    })
    await service.launch()
    const ready = await fetch(`${service.url}/health/ready`)
    expect(ready.status).toBe(503)
    const { reasons } = (await ready.json()) as { readonly reasons: ReadonlyArray<string> }
    expect(reasons).toEqual([
      expect.stringContaining(`The message broker is unreachable: Cannot connect to NATS`),
    ])
    expect(reasons[0]).toContain(broker.address)
    expect(await service.statusOf("/health/live")).toBe(200)
    await service.untilLogged("no messages are sent or received until the broker is reachable")
    // The service accepts timers in the meantime.
    const created = await fetch(`${service.url}/api/v1/timers/create`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...key("orders", "call-1"), delay: "1h", target: { type: "event" } }),
    })
    expect(created.status).toBe(200)
    await broker.restart()
    await eventually("the service is ready", async () =>
      (await service.statusOf("/health/ready")) === 200 ? true : undefined,
    )
    await using peer = await PlainBusClient.connected(broker.address)
    await eventually("the consumer is there", () =>
      peer.manager.consumers.info("svc", "punctual").then(
        () => true,
        () => undefined,
      ),
    )
    await peer.listen()
    await peer.schedule({ tenant: "orders", serviceCallId: "call-2", dueAtMs: Date.now() })
    await eventually("the event", () => (peer.reachedFor("call-2").length > 0 ? true : undefined))
    expect(service.logs.join("\n")).not.toContain("secret-")
    expect(await service.terminate()).toBe(0)
  })

  test("a consumer that cannot be made yet keeps the service from being ready, and is logged once", async () => {
    using folder = new TemporaryFolder()
    await using broker = await NatsServer.start()
    await using peer = await PlainBusClient.connected(broker.address)
    await peer.manager.streams.add({ name: "svc", subjects: ["svc.>"], max_consumers: 1 })
    await peer.manager.consumers.add("svc", { durable_name: "other" })
    await broker.stop()
    await using service = new ServiceProcess({
      folder: folder.path,
      settings: { TIMER_BROKER_URL: broker.url },
    })
    await service.launch()
    await broker.restart()
    const lines = () => service.logs.filter((line) => line.includes("cannot subscribe yet"))
    await eventually("the failure is logged", () => (lines().length > 0 ? true : undefined))
    const reasonsNow = async () => {
      const ready = await fetch(`${service.url}/health/ready`)
      return { status: ready.status, text: await ready.text() }
    }
    expect(await reasonsNow()).toEqual({ status: 503, text: expect.stringContaining("cannot subscribe yet") })
    // Later attempts fail for the same reason and are not logged.
    await peer.manager.consumers.delete("svc", "other")
    await eventually("the service is ready", async () =>
      (await reasonsNow()).status === 200 ? true : undefined,
    )
    expect(lines().length).toBe(1)
    expect(await service.terminate()).toBe(0)
  })

  test("a stream that contradicts the contract ends the start, even if the broker comes later", async () => {
    using folder = new TemporaryFolder()
    await using broker = await NatsServer.start()
    await using peer = await PlainBusClient.connected(broker.address)
    await peer.manager.streams.add({ name: "svc", subjects: ["svc.>"], max_msgs_per_subject: 1 })
    const settings = { TIMER_BROKER_URL: broker.url }
    await using atOnce = new ServiceProcess({ folder: folder.path, settings })
    await atOnce.start().catch(() => {})
    expect(await atOnce.exit).toBe(1)
    expect(atOnce.logs.join("\n")).toContain("max_msgs_per_subject")
    await broker.stop()
    await using later = new ServiceProcess({ folder: folder.path, settings })
    await later.launch()
    await broker.restart()
    expect(await later.fallen()).toBe(1)
    expect(later.logs.join("\n")).toContain("max_msgs_per_subject")
  })
})
