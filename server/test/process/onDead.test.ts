// Deaths under kills: whatever moment a kill -9 hits, between the notice and the end of its timer too, every timer that is dead is
// told of, and nobody is told of a timer that was delivered.
import { expect, test } from "bun:test"
import { eventually } from "../../testkit/eventually.ts"
import { SeededRandom } from "../../testkit/SeededRandom.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const namespace = "shop"
const rounds = 6
const perRound = 150

/** What arrived, by its path: attempts at /hook, calls of onDead at /dead. */
class Target implements Disposable {
  readonly refused = new Map<string, number>()
  readonly delivered = new Set<string>()
  readonly told: Array<{ readonly timerId: string; readonly fireId: string; readonly id: string | null }> = []
  onAttempt: (attempts: number) => void = () => {}
  #attempts = 0
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const envelope = (await request.json()) as { type: string; timerId: string; fireId: string }
      const { timerId, fireId } = envelope
      if (new URL(request.url).pathname === "/dead") {
        expect(envelope).toMatchObject({ type: "timer.dead", reason: "refused", attempts: 1 })
        this.told.push({ timerId, fireId, id: request.headers.get("webhook-id") })
        return new Response(null, { status: 204 })
      }
      this.onAttempt(++this.#attempts)
      const attempts = (this.refused.get(timerId) ?? 0) + 1
      // Some are well when they are tried again after a kill: then they are not dead.
      if (attempts > 1 && timerId.endsWith("-fixed")) {
        this.delivered.add(timerId)
        return new Response(null, { status: 204 })
      }
      this.refused.set(timerId, attempts)
      return new Response(null, { status: 410 })
    },
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  [Symbol.dispose](): void {
    this.#server.stop(true)
  }
}

test("every death is told of, through kills at any moment, and nothing that lives", async () => {
  const random = new SeededRandom()
  const hint = `PUNCTUAL_SEED=${random.seed}`
  using folder = new TemporaryFolder()
  using target = new Target()
  await using service = new ServiceProcess({
    folder: folder.path,
    name: "first",
    settings: { TIMER_SHARDS: "8" },
  })
  await service.start()
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came; the test says what it expects.
  const call = async (path: string, body: object): Promise<any> => {
    const response = await fetch(`${service.url}/api/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(200)
    return response.json()
  }
  await call("namespaces/put", { namespace, onDead: { type: "webhook", url: `${target.url}/dead` } })
  const ids: Array<string> = []
  for (let round = 0; round < rounds; round++) {
    const attemptsBefore =
      [...target.refused.values()].reduce((sum, one) => sum + one, 0) + target.delivered.size
    const killAfter = attemptsBefore + 1 + random.below(perRound - 20)
    const killed = Promise.withResolvers<void>()
    const created = Promise.withResolvers<void>()
    const killDelayMs = random.below(4)
    target.onAttempt = async (attempts) => {
      if (attempts !== killAfter) return
      // On a busy machine timers fire before their create is answered.
      await created.promise
      // A little later, when what was just answered is being settled.
      setTimeout(() => service.kill9().then(killed.resolve, killed.reject), killDelayMs)
    }
    const timers = Array.from({ length: perRound }, (_, n) => ({
      namespace,
      timerId: `${round}-${n}${n % 2 === 0 ? "-fixed" : ""}`,
      executeAt: new Date(Date.now() + 50).toISOString(),
      callbackUrl: `${target.url}/hook`,
    }))
    ids.push(...timers.map(({ timerId }) => timerId))
    await call("timers/createMany", { timers })
    created.resolve()
    await killed.promise
    target.onAttempt = () => {}
    await service.start()
    await eventually("nothing is pending", async () =>
      (await call("timers/count", { namespace, state: "pending" })).count === 0 ? true : undefined,
    )
  }
  const dead = new Set<string>()
  let cursor: string | undefined
  do {
    const page = await call("timers/list", { namespace, state: "dead", limit: 1_000, cursor })
    for (const { timerId } of page.timers) dead.add(timerId)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  const told = new Set(target.told.map(({ timerId }) => timerId))
  expect([hint, [...told].sort()]).toEqual([hint, [...dead].sort()])
  expect([hint, ids.filter((id) => !dead.has(id) && !target.delivered.has(id))]).toEqual([hint, []])
  // A repeat has the id of the call that it repeats.
  const callsOf = new Map<string, Set<string | null>>()
  for (const { fireId, id } of target.told) callsOf.set(fireId, (callsOf.get(fireId) ?? new Set()).add(id))
  for (const calls of callsOf.values()) expect(calls.size).toBe(1)
  expect(await service.terminate()).toBe(0)
}, 60_000)
