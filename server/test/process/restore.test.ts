// Backup and restore as the commands that operators run. A backup is made under load, the service is killed, the backup
// replaces the store, and its contents are as they were at the backup.
import { expect, test } from "bun:test"
import { join } from "node:path"
import { eventually } from "../../testkit/eventually.ts"
import type { HistoryEvent, HistoryRecorder, Key, StoreContents } from "../../testkit/History.ts"
import { checkInvariants, describeViolations } from "../../testkit/InvariantChecker.ts"
import { type CreateRequest, RecordingClient } from "../../testkit/RecordingClient.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { readSqliteContents } from "../../testkit/SqliteContents.ts"
import { ProcessRun } from "./ProcessRun.ts"

const timers = 6_000
const soonTimers = 1_000
const hourMs = 3_600_000

const nameOf = ({ namespace, timerId }: Key): string => `${namespace}/${timerId}`

const keysIn = ({ pending, finished }: StoreContents): Set<string> =>
  new Set([...pending, ...finished].map(({ key }) => nameOf(key)))

/** Creates one timer after the other until it is stopped. The history has every answer. */
class Load {
  readonly #client: RecordingClient
  readonly #made: Promise<void>
  answered = 0
  #isStopped = false

  constructor(recorder: HistoryRecorder, service: ServiceProcess, callbackUrl: string) {
    this.#client = new RecordingClient({
      recorder,
      url: () => service.url,
      onExchange: ({ status }) => {
        if (status === 200) this.answered++
      },
    })
    this.#made = this.#run(callbackUrl)
  }

  async #run(callbackUrl: string): Promise<void> {
    for (let made = 0; !this.#isStopped; made++) {
      const key = { namespace: "load", timerId: `l-${made}` }
      await this.#client.create({ key, executeAtMs: Date.now() + hourMs, callbackUrl })
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#made
  }
}

/** The events of the timers that the test is about. */
const eventsOf = (
  events: ReadonlyArray<HistoryEvent>,
  keys: ReadonlySet<string>,
): ReadonlyArray<HistoryEvent> => {
  const asks = new Set<number>()
  const deliveries = new Set<number>()
  for (const event of events) {
    if (event.kind === "asked" && keys.has(nameOf(event.request.key))) asks.add(event.ask)
    if (event.kind === "attempted" && keys.has(nameOf(event.attempt.key))) deliveries.add(event.delivery)
  }
  return events.filter((event) => {
    if (event.kind === "asked" || event.kind === "answered") return asks.has(event.ask)
    return event.kind === "attempted" || event.kind === "replied" ? deliveries.has(event.delivery) : true
  })
}

/** The creates that were answered by now. */
const acknowledgedIn = (events: ReadonlyArray<HistoryEvent>): ReadonlyArray<string> => {
  const answered = new Set(events.flatMap((event) => (event.kind === "answered" ? [event.ask] : [])))
  return events.flatMap((event) =>
    event.kind === "asked" && answered.has(event.ask) ? [nameOf(event.request.key)] : [],
  )
}

test("a backup made under load can be restored after a kill, with all its contents", async () => {
  await using run = await ProcessRun.start({ settings: { TIMER_POLLING_INTERVAL: "200ms" } })
  const { service, receiver, recorder, folder } = run
  const [file, store] = [join(folder, "copy.db"), `sqlite:${ServiceProcess.databaseIn(folder)}`]
  const callbackUrl = `${receiver.url}/hook`
  const payload = JSON.stringify("x".repeat(2_000))
  // None of them fires before the backup, however long that takes.
  await run.setPaused(true)
  const soonMs = Date.now()
  const requests = Array.from({ length: timers }, (_, index): CreateRequest => {
    const executeAtMs = index < soonTimers ? soonMs + index : Date.now() + hourMs
    return { key: { namespace: "shop", timerId: `t-${index}` }, executeAtMs, callbackUrl, payload }
  })
  await run.createAll(requests)

  const load = new Load(recorder, service, callbackUrl)
  await eventually("the load runs", () => (load.answered > 0 ? true : undefined))
  const acknowledged = acknowledgedIn(recorder.events)
  const answeredBefore = load.answered
  const backup = await ServiceProcess.command(["backup", file, "--store", store, "--json"])
  expect([backup.code, backup.stderr]).toEqual([0, ""])
  // Creates do not wait for the backup.
  expect(load.answered - answeredBefore).toBeGreaterThan(10)
  const copied = keysIn(readSqliteContents(file))
  expect(acknowledged.filter((name) => !copied.has(name))).toEqual([])

  await run.setPaused(false)
  await receiver.until("some have fired", ({ length }) => length >= soonTimers / 4)
  await service.kill9()
  await load.stop()
  const deliveredBefore = receiver.deliveries.length
  const restore = await ServiceProcess.command(["restore", file, "--store", store, "--force"])
  expect([restore.code, restore.stdout]).toEqual([0, expect.stringContaining("The store is paused")])

  // The service runs, accepts timers, and fires none.
  await service.start()
  await eventually("it is said that nothing fires", () => (service.hasLogged("restored") ? true : undefined))
  await eventually("it has looked for what is due", async () =>
    sweepsIn(await (await fetch(`${service.url}/metrics`)).text()) >= 2 ? true : undefined,
  )
  expect(await service.metric("timer_service_paused")).toBe(1)
  const late = { namespace: "shop", timerId: "while paused" }
  const answer = await run.client.create({ key: late, executeAtMs: Date.now() - 1, callbackUrl })
  expect(answer?.result).toBe("created")
  expect(await service.terminate()).toBe(0)
  expect(receiver.deliveries.length).toBe(deliveredBefore)

  const settle = await ServiceProcess.command(["restore", "--due-before", "now", "fire", "--store", store])
  expect([settle.code, settle.stdout]).toEqual([0, expect.stringContaining("fire when the service starts")])
  await service.start()
  await receiver.until("the rest", (deliveries) => firedIn(deliveries).size === soonTimers + 1)
  await eventually("all are settled", async () =>
    (await service.metric("timer_pending")) === copied.size - soonTimers ? true : undefined,
  )
  expect(await service.terminate()).toBe(0)

  const epochs = receiver.deliveries.map(({ epoch }) => epoch)
  expect(Math.min(...epochs.slice(deliveredBefore))).toBeGreaterThan(
    Math.max(...epochs.slice(0, deliveredBefore)),
  )
  const events = eventsOf(recorder.events, new Set([...copied, nameOf(late)]))
  const violations = checkInvariants({ events, final: run.contents(), dueUntilMs: Date.now() })
  expect(describeViolations(violations)).toBe("")
  expect((await ServiceProcess.command(["doctor", "--full", "--store", store])).code).toBe(0)
}, 240_000)

const firedIn = (deliveries: ReadonlyArray<{ readonly key: Key }>): Set<string> =>
  new Set(deliveries.map(({ key }) => nameOf(key)))

/** How often the service has swept since it started. */
const sweepsIn = (metrics: string): number =>
  Number(/^timer_polling_duration_seconds_count\S* (\d+)$/m.exec(metrics)?.[1] ?? 0)
