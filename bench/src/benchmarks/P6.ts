// Many timers due in the same instant, to a webhook on loopback; against bare posts of the same bytes to the same
// receiver, as many at once as Punctual has in flight to one host.
import { atLeast, type Benchmark, compareRates, count, ratioOf } from "../Benchmark.ts"
import { Receiver } from "../Receiver.ts"
import { Service } from "../Service.ts"
import { payload } from "../work.ts"

const atOnce = 64

export const P6: Benchmark = {
  id: "P6",
  title: "100,000 due at once to a webhook on loopback",
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 20_000 : 100_000
    await using service = await Service.start()
    await using receiver = await Receiver.start()
    const rates = await compareRates(
      [
        { name: "Punctual", perSecond: () => fireAll(service, receiver, timers, progress) },
        { name: "bare posts", perSecond: () => postAll(receiver.plainUrl, timers) },
      ],
      scale,
      progress,
    )
    return { rows: rates.rows, verdicts: [atLeast("of bare posts", ratioOf(rates), 0.7)] }
  },
}

const fireAll = async (
  service: Service,
  receiver: Receiver,
  timers: number,
  progress: (message: string) => void,
): Promise<number> => {
  await receiver.forget()
  const dueAt = Date.now() + 4_000 + timers / 4
  const timer = {
    namespace: "bench",
    executeAt: new Date(dueAt).toISOString(),
    callbackUrl: receiver.plainUrl,
    payload: JSON.parse(payload.toString()),
  }
  await service.createMany(timers, () => timer)
  if (Date.now() > dueAt) throw new Error("the timers could not be created before they were due")
  progress(`${count(timers)} created, due in ${((dueAt - Date.now()) / 1_000).toFixed(1)} s`)
  while (Date.now() < dueAt) await Bun.sleep(dueAt - Date.now())
  await receiver.delivered(timers, 120_000)
  return (timers / (Date.now() - dueAt)) * 1_000
}

const postAll = async (url: string, posts: number): Promise<number> => {
  const id = crypto.randomUUID()
  const now = new Date().toISOString()
  const body = JSON.stringify({
    type: "timer.fired",
    namespace: "bench",
    timerId: id,
    fireId: id,
    attempt: 1,
    epoch: 1,
    revision: Date.now(),
    executeAt: now,
    firedAt: now,
    correlationId: id,
    payload: JSON.parse(payload.toString()),
  })
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": "1800000000",
    traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
    "punctual-attempt": "1",
    "punctual-epoch": "1",
  }
  let started = 0
  const startedAt = performance.now()
  const sender = async () => {
    while (started++ < posts) {
      const response = await fetch(url, { method: "POST", headers, body })
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`the receiver answered ${response.status}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
  return (posts / (performance.now() - startedAt)) * 1_000
}
