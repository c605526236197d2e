// Many timers due in the same instant, to a webhook on loopback; against bare posts of the same size to the same
// receiver, as many at once as Punctual has in flight.
import { atLeast, type Benchmark, compareRates, count, rateRow } from "../Benchmark.ts"
import { ChildServer } from "../ChildServer.ts"
import { Service } from "../Service.ts"
import { payload } from "../work.ts"

/** Punctual's own bound for one host. */
const atOnce = 64

export const P6: Benchmark = {
  id: "P6",
  title: "100,000 due at once to a webhook on loopback",
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 20_000 : 100_000
    const service = await Service.start()
    const receiver = await ChildServer.start(new URL("../bare/receiver.ts", import.meta.url))
    try {
      const sides = await compareRates(
        [
          { name: "Punctual", perSecond: () => fireAll(service, receiver, timers, progress) },
          { name: "bare posts", perSecond: () => postAll(receiver, timers) },
        ],
        scale,
        progress,
      )
      const [ours, bare] = sides
      return {
        rows: sides.map(rateRow),
        verdicts: [atLeast("of bare posts", (ours?.median ?? 0) / (bare?.median ?? 1), 0.7)],
      }
    } finally {
      await Promise.all([service.stop(), receiver.stop()])
    }
  },
}

const fireAll = async (
  service: Service,
  receiver: ChildServer,
  timers: number,
  progress: (message: string) => void,
): Promise<number> => {
  await fetch(`${receiver.url}/reset`)
  const dueAt = Date.now() + 4_000 + timers / 4
  const timer = {
    namespace: "bench",
    executeAt: new Date(dueAt).toISOString(),
    callbackUrl: `${receiver.url}/hook`,
  }
  for (let created = 0; created < timers; created += 1_000) {
    await service.post("/timers/createMany", {
      timers: Array.from({ length: 1_000 }, () => ({ ...timer, payload: JSON.parse(payload.toString()) })),
    })
  }
  if (Date.now() > dueAt) throw new Error("the timers could not be created before they were due")
  progress(`${count(timers)} created, due in ${((dueAt - Date.now()) / 1_000).toFixed(1)} s`)
  while (Date.now() < dueAt) await Bun.sleep(dueAt - Date.now())
  await untilDelivered(receiver, timers, dueAt + 120_000)
  return (timers / (Date.now() - dueAt)) * 1_000
}

const untilDelivered = async (receiver: ChildServer, timers: number, deadline: number): Promise<void> => {
  for (;;) {
    const { deliveries } = (await (await fetch(`${receiver.url}/counts`)).json()) as {
      readonly deliveries: number
    }
    if (deliveries >= timers) return
    if (Date.now() > deadline) throw new Error(`${deliveries} of ${timers} delivered in time`)
    await Bun.sleep(10)
  }
}

const postAll = async (receiver: ChildServer, posts: number): Promise<number> => {
  const body = JSON.stringify({
    type: "timer.fired",
    namespace: "bench",
    timerId: crypto.randomUUID(),
    fireId: crypto.randomUUID(),
    attempt: 1,
    epoch: 1,
    revision: Date.now(),
    executeAt: new Date().toISOString(),
    firedAt: new Date().toISOString(),
    correlationId: crypto.randomUUID(),
    payload: JSON.parse(payload.toString()),
  })
  const headers = { "content-type": "application/json" }
  let started = 0
  const startedAt = performance.now()
  const sender = async () => {
    while (started++ < posts) {
      const response = await fetch(`${receiver.url}/hook`, { method: "POST", headers, body })
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`the receiver answered ${response.status}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
  return (posts / (performance.now() - startedAt)) * 1_000
}
