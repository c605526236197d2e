// What a service on a broker does, beside a peer that knows only the contract. Every broker with a plain client runs it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { randomUUID } from "node:crypto"
import { describeBrowser } from "./Browser.ts"
import { eventually } from "./eventually.ts"
import type { Heard } from "./PlainBusClient.ts"
import type { PlainPeer } from "./PlainPeer.ts"
import { ServiceProcess } from "./ServiceProcess.ts"
import type { TcpProxy } from "./TcpProxy.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

type Settings = Readonly<Record<string, string>>

/** A broker can take long to start on a busy machine. */
const restartWithinMs = 180_000

export interface BrokerFixture<Peer extends PlainPeer> {
  /** For people. */
  readonly title: string
  /** A network in front of the broker. */
  proxy(): Promise<TcpProxy>
  /** The settings of a service whose places on the broker have this name. `address` is the proxy's. */
  settings(address: string, name: string): Settings
  /** `isSplit`: commands and events have places of their own. */
  peer(name: string, isSplit: boolean): Peer
  /** Where the peer finds an event. */
  eventPlace(name: string, isSplit: boolean): string
  /** The settings of a service that the broker refuses, and what the service then says. */
  refused(password: string): { readonly settings: Settings; readonly says: string }
  /** Ends the broker without notice. The places of the run survive. */
  kill9(run: BrokerServiceRun<Peer>): Promise<void>
  restart(): Promise<void>
}

export interface BrokerServiceRun<Peer extends PlainPeer> {
  readonly name: string
  readonly service: ServiceProcess
  /** Between the service and the broker. */
  readonly proxy: TcpProxy
  readonly peer: Peer
}

/** What `punctual messages list --json` prints, as far as the tests read it. */
interface UndeliverableList {
  readonly messages: ReadonlyArray<{
    readonly namespace: string
    readonly id: string
    readonly reason: string
  }>
}

const call = async (
  { service }: Pick<BrokerServiceRun<PlainPeer>, "service">,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> => {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  // Every answer of the contract is an object.
  return (await response.json()) as Record<string, unknown>
}

const timerOf = async (run: BrokerServiceRun<PlainPeer>, timerId: string) => {
  const { timer } = await call(run, "/timers/get", { namespace: "orders", timerId })
  // Absent if there is no such timer.
  return timer as Record<string, unknown> | undefined
}

const untilState = (run: BrokerServiceRun<PlainPeer>, timerId: string, state: string) =>
  eventually(
    `${timerId} is ${state}`,
    async () => ((await timerOf(run, timerId))?.["state"] === state ? true : undefined),
    60_000,
  )

const untilMetric = (
  { service }: BrokerServiceRun<PlainPeer>,
  name: string,
  isMet: (value: number) => boolean,
) =>
  eventually(`${name} is as it should be`, async () => {
    // A counter exists from its first event on.
    const now = await service.metric(name).catch(() => Number.NaN)
    return isMet(now) ? true : undefined
  })

/** They share a service. Each has tenants of its own. */
const undisturbedTests = <Peer extends PlainPeer>(
  started: () => BrokerServiceRun<Peer>,
  fixture: () => BrokerFixture<Peer>,
): void => {
  test("1,000 commands due within three seconds get one event each, none early", async () => {
    const run = started()
    const tenants = ["orders", "billing", "trial-2", "X_y"]
    const startsAtMs = Date.now() + 1_000
    const commands = Array.from({ length: 1_000 }, (_, index) => ({
      tenant: tenants[index % tenants.length] ?? "",
      // Dots, stars and other special characters of addresses are plain characters in an id.
      serviceCallId: `call.${index} *#é`,
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
        expect(subject).toBe(`${fixture().eventPlace(run.name, false)} ${tenant}.${serviceCallId}`)
        expect(messageId).toBe(envelope.id)
        expect(Date.parse(envelope.payload.reachedAt)).toBeGreaterThanOrEqual(dueAtMs)
        expect(envelope).toMatchObject({ correlationId, payload: { tenantId: tenant, serviceCallId } })
        expect(headers).toMatchObject({ tenantId: tenant, serviceCallId, correlationId })
      }
    }
    await untilMetric(run, `timer_bus_processed_total{tenant="orders"}`, (value) => value === 250)
    await untilMetric(run, "timer_bus_lag_messages", (value) => value === 0)
    expect(await run.service.metric("timer_bus_connected")).toBe(1)
  })

  test("undeliverable messages are listed, shown, replayed and discarded by the commands", async () => {
    const run = started()
    const undeliverable = (count: number) =>
      untilMetric(run, 'timer_bus_undeliverable_total{tenant="clerk"}', (value) => value === count)
    const tooFarMs = Date.now() + 20 * 366 * 86_400_000
    await run.peer.schedule({ tenant: "clerk", serviceCallId: "too far", dueAtMs: tooFarMs })
    await undeliverable(1)
    await run.peer.send("clerk", "x", "no JSON at all")
    await undeliverable(2)
    await untilMetric(run, "timer_bus_oldest_undeliverable_age_seconds", (value) => value > 0)
    const messages = (...args: ReadonlyArray<string>) =>
      ServiceProcess.command(["messages", ...args], { TIMER_URL: run.service.url })
    const listed = await messages("list", "--namespace", "clerk", "--json")
    const { messages: kept }: UndeliverableList = JSON.parse(listed.stdout)
    expect(kept.map(({ reason }) => reason)).toEqual(["refused", "malformed"])
    const [refused, malformed] = kept
    const shown = await messages("show", "--namespace", "clerk", refused?.id ?? "")
    expect(shown.stdout).toContain("dueAt must be at most")
    expect((await messages("show", "--namespace", "billing", refused?.id ?? "")).code).toBe(1)
    expect((await messages("replay", "--namespace", "clerk", refused?.id ?? "")).code).toBe(0)
    await undeliverable(3)
    expect((await messages("discard", "--namespace", "clerk", malformed?.id ?? "")).code).toBe(0)
    const all: UndeliverableList = JSON.parse((await messages("list", "--json")).stdout)
    const rest = all.messages.filter(({ namespace }) => namespace === "clerk")
    expect(rest).toHaveLength(1)
    expect(rest[0]?.id).not.toBe(refused?.id)
  })

  describeBrowser("in the console", (browser) => {
    test("the status page shows the broker, and the messages that could not be handled", async () => {
      const run = started()
      const tooFarMs = Date.now() + 20 * 366 * 86_400_000
      await run.peer.schedule({ tenant: "reader", serviceCallId: "too-far", dueAtMs: tooFarMs })
      await untilMetric(run, 'timer_bus_undeliverable_total{tenant="reader"}', (value) => value === 1)
      const url = `${run.service.url}/console/status`
      await using opened = await browser().open(url, { width: 1_440, theme: "light" })
      const card = opened.page.getByRole("region", { name: "Bus" })
      await card.getByRole("row", { name: "too-far" }).getByText("was refused").waitFor()
      await card.getByText(run.proxy.address).waitFor()
      expect(await opened.troubles()).toEqual([])
    })
  })
}

export const brokerServiceSuite = <Peer extends PlainPeer>(fixture: () => BrokerFixture<Peer>): void => {
  let runs = 0

  /** A service behind a proxy, and a peer that listens, with places of their own. */
  const startRun = async (isSplit: boolean, stack: AsyncDisposableStack): Promise<BrokerServiceRun<Peer>> => {
    const name = `run${++runs}`
    const folder = stack.use(new TemporaryFolder()).path
    const proxy = stack.use(await fixture().proxy())
    const settings = {
      ...fixture().settings(proxy.address, name),
      ...(isSplit ? { TIMER_BROKER_SUBJECTS: "split" } : {}),
    }
    const service = stack.use(await ServiceProcess.ready({ folder, settings }))
    const peer = stack.use(fixture().peer(name, isSplit))
    await peer.listen()
    return { name, service, proxy, peer }
  }

  const withRun = async (
    body: (run: BrokerServiceRun<Peer>) => Promise<void>,
    { isSplit = false }: { readonly isSplit?: boolean } = {},
  ): Promise<void> => {
    await using stack = new AsyncDisposableStack()
    await body(await startRun(isSplit, stack))
  }

  describe("beside a plain client", () => {
    const shared = new AsyncDisposableStack()
    let run: BrokerServiceRun<Peer>
    beforeAll(async () => {
      run = await startRun(false, shared)
    })
    afterAll(() => shared.disposeAsync())
    undisturbedTests(() => run, fixture)
  })

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
      await untilState(run, "twice", "delivered")
      expect(await timerOf(run, "twice")).toMatchObject({ attempts: 1 })
      const events = await eventually("the repeat", () => {
        const some = run.peer.reachedFor("twice")
        return some.length === 2 ? some : undefined
      })
      const fireId = String((await timerOf(run, "twice"))?.["fireId"])
      expect(events.map(({ messageId }) => messageId)).toEqual([fireId, fireId])
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

  test("commands and events have places of their own, if the operator wants", () =>
    withRun(
      async (run) => {
        await run.peer.schedule({ tenant: "orders", serviceCallId: "call-1", dueAtMs: Date.now() })
        const event = await eventually("the event", () => run.peer.reachedFor("call-1")[0])
        expect(event.subject).toBe(`${fixture().eventPlace(run.name, true)} orders.call-1`)
        await run.peer.cancel({ tenant: "orders", serviceCallId: "call-2" })
        await untilState(run, "call-2", "cancelled")
      },
      { isSplit: true },
    ))

  test(
    "it waits for a broker that is away at the start, recovers after a kill, and shows no password",
    () =>
      withRun(async (run) => {
        const soon = (serviceCallId: string) =>
          run.peer.schedule({ tenant: "orders", serviceCallId, dueAtMs: Date.now() + 1_500 })
        await soon("before")
        await untilMetric(run, "timer_bus_lag_messages", (value) => value === 0)
        await fixture().kill9(run)
        await call(run, "/timers/create", {
          namespace: "orders",
          timerId: "during",
          delay: "1ms",
          target: { type: "event" },
          retryPolicy: { initialInterval: "200ms", backoffMultiplier: 1 },
        })

        using folder = new TemporaryFolder()
        const secret = `secret-${randomUUID()}`
        const { settings, says } = fixture().refused(secret)
        await using wrong = new ServiceProcess({ folder: folder.path, settings })
        await wrong.launch()
        const ready = await fetch(`${wrong.url}/health/ready`)
        expect(ready.status).toBe(503)
        const why = await ready.text()
        expect(why).toContain(`Cannot connect to ${fixture().title}`)
        expect(why).not.toContain(secret)

        await fixture().restart()
        // Waiting does not help against a user that the broker refuses.
        expect(await wrong.fallen()).toBe(1)
        expect(wrong.logs.join("\n")).toContain(says)
        expect(wrong.logs.join("\n")).not.toContain(secret)
        await soon("after")
        for (const serviceCallId of ["before", "during", "after"])
          await untilState(run, serviceCallId, "delivered")
        await untilMetric(run, "timer_bus_connected", (value) => value === 1)
      }),
    restartWithinMs,
  )
}
