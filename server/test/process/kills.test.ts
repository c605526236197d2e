import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import type { Key } from "../../testkit/History.ts"
import { accepted, type Delivery, refusedFor } from "../../testkit/Receiver.ts"
import type { CreateRequest } from "../../testkit/RecordingClient.ts"
import { SeededRandom } from "../../testkit/SeededRandom.ts"
import { ProcessRun } from "./ProcessRun.ts"

const namespaces = ["orders", "billing", "Trial_Expiry-2", "x"] as const
const retryMs = 200
const retryPolicy = { initialInterval: `${retryMs}ms`, backoffMultiplier: 1, jitter: 0 }

/** JSON that a parser would write with other bytes, so that any rewrite of it shows. */
const oddPayload = (random: SeededRandom): string | undefined =>
  random.oneOf([
    undefined,
    "null",
    "-0",
    "12345678901234567890123",
    `"tab \\u0009, é and \\u00e9, 💥 and \\ud83d\\udca5, ${random.below(1_000)}"`,
    `{ "amount" : 1.0e+2 , "rate":0.10, "id":${random.below(1_000_000)} }`,
    `[[],{},"",${"[".repeat(20)}${"]".repeat(20)}, 9007199254740993]`,
    `{"b":1,"a":{"payload":{"payload":"${"ü".repeat(random.below(2_000))}"}},"a":2}`,
  ])

const randomKey = (random: SeededRandom): Key => ({
  namespace: random.oneOf(namespaces),
  timerId: `${random.oneOf(["t", "ключ", 'quote"and\\slash', "a/b c?&#"])}-${random.below(2 ** 32)}`,
})

test("timers due over ten seconds all arrive, none early, though the service is killed three times", async () => {
  const random = new SeededRandom()
  // One in fifty is refused at its first attempts, so that kills also hit retries.
  const isTurnedAway = ({ attempt }: Delivery) => attempt <= 2 && random.below(50) === 0
  await using run = await ProcessRun.start({
    reply: (delivery) => (isTurnedAway(delivery) ? refusedFor(retryMs) : accepted),
    // Short, so that a timer that no window holds is found and counted before a restart hides it.
    settings: { TIMER_POLLING_INTERVAL: "200ms" },
  })
  const { service, client, receiver } = run
  const timers = 5_000
  const spreadMs = 10_000
  const beginsAtMs = Date.now() + 2_000
  const request = (key: Key, executeAtMs: number): CreateRequest => {
    const payload = oddPayload(random)
    const callbackUrl = `${receiver.url}/hook`
    return { key, executeAtMs, callbackUrl, retryPolicy, ...(payload === undefined ? {} : { payload }) }
  }
  const keys = Array.from({ length: timers }, () => randomKey(random))
  await run.createAll(keys.map((key) => request(key, beginsAtMs + random.below(spreadMs))))

  let up: Promise<void> = Promise.resolve()
  let rescued = 0
  const killing = async () => {
    for (const deliveries of [1_000, 2_200, 3_400]) {
      await receiver.until(`delivery ${deliveries}`, ({ length }) => length >= deliveries)
      rescued += await service.metric("timer_sweep_rescued_total")
      up = service.kill9().then(() => service.start())
      await up
    }
  }
  const someKey = () => keys[random.below(timers)] ?? randomKey(random)
  const soon = () => Date.now() + random.below(3_000)
  const doSomething = (): Promise<unknown> => {
    switch (random.below(4)) {
      case 0:
        return client.cancel(someKey())
      case 1:
        return client.update({ key: someKey(), executeAtMs: soon() })
      case 2:
        return client.update({ key: someKey(), executeAtMs: soon(), payload: '{"moved":1.00}' })
      default:
        return client.create(request(someKey(), soon()))
    }
  }
  // Each action happens at its point of the run, so that kills fall between actions.
  const things = 800
  let next = 0
  const meddling = async () => {
    for (let thing = next++; thing < things; thing = next++) {
      await receiver.until(`delivery for thing ${thing}`, ({ length }) => length >= thing * 5)
      await up
      await doSomething()
    }
  }
  await Promise.all([killing(), ...Array.from({ length: 8 }, meddling)])

  await eventually("nothing is pending", async () =>
    (await service.metric("timer_pending")) === 0 ? true : undefined,
  )
  rescued += await service.metric("timer_sweep_rescued_total")
  expect(await service.terminate()).toBe(0)
  run.expectInvariants({ hint: `PUNCTUAL_SEED=${random.seed}` })
  expect(rescued).toBe(0)
}, 90_000)

test("no acknowledged create is lost when the service is killed right after it", async () => {
  const random = new SeededRandom()
  await using run = await ProcessRun.start()
  const { service, client, receiver } = run
  const rounds = 8
  const callers = 24
  const inAnHourMs = Date.now() + 3_600_000
  let acknowledged = 0
  for (let round = 0; round < rounds; round++) {
    const enough = acknowledged + 1 + random.below(150)
    let killed: Promise<void> | undefined
    const calling = async () => {
      while (killed === undefined) {
        const payload = oddPayload(random)
        const answer = await client.create({
          key: randomKey(random),
          executeAtMs: inAnHourMs + random.below(1_000),
          callbackUrl: receiver.url,
          ...(payload === undefined ? {} : { payload }),
        })
        if (answer?.result === "created") acknowledged++
        // In the same turn in which the answer arrives, while requests of other callers are under way.
        if (acknowledged >= enough) killed ??= service.kill9()
      }
    }
    await Promise.all(Array.from({ length: callers }, calling))
    await killed
    await service.start()
  }
  expect(await service.terminate()).toBe(0)
  expect(acknowledged).toBeGreaterThanOrEqual(rounds)
  run.expectInvariants({ hint: `PUNCTUAL_SEED=${random.seed}` })
}, 60_000)
