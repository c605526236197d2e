// How late timers fire: 1,000 a second to a webhook on loopback, with a million others pending.
import { atMost, type Benchmark, count, percentile } from "../Benchmark.ts"
import { ChildServer } from "../ChildServer.ts"
import { Service } from "../Service.ts"
import { farAhead, payload } from "../work.ts"

const firesPerSecond = 1_000

export const P7: Benchmark = {
  id: "P7",
  title: "lateness at 1,000 fires a second with 1,000,000 pending (webhook, as received)",
  run: async ({ isQuick }, progress) => {
    const pending = isQuick ? 50_000 : 1_000_000
    const seconds = isQuick ? 5 : 30
    const service = await Service.start()
    const receiver = await ChildServer.start(new URL("../bare/receiver.ts", import.meta.url))
    try {
      await fill(service, receiver, pending, progress)
      const latenessMs = await fire(service, receiver, seconds)
      progress(`${count(latenessMs.length)} deliveries`)
      const [p50, p99] = [percentile(latenessMs, 0.5), percentile(latenessMs, 0.99)]
      const highest = percentile(latenessMs, 1)
      const earliest = percentile(latenessMs, 0)
      return {
        rows: [
          {
            name: `Punctual, ${count(pending)} pending, ${count(latenessMs.length)} fired`,
            values: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, p99.9 ${percentile(latenessMs, 0.999).toFixed(1)} ms, highest ${highest.toFixed(1)} ms, lowest ${earliest.toFixed(1)} ms`,
          },
        ],
        verdicts: [
          atMost("p50 lateness", p50, 3, "ms"),
          atMost("p99 lateness", p99, 25, "ms"),
          // The receiver's clock is read to a fraction of a millisecond: none may have come early.
          {
            label: "earliest",
            value: `${earliest.toFixed(2)} ms`,
            target: "≥ 0 ms",
            isReached: earliest >= 0,
          },
        ],
      }
    } finally {
      await Promise.all([service.stop(), receiver.stop()])
    }
  },
}

const fill = async (
  service: Service,
  receiver: ChildServer,
  pending: number,
  progress: (message: string) => void,
) => {
  let left = pending / 1_000
  const caller = async () => {
    while (left-- > 0) {
      await service.post("/timers/createMany", {
        timers: Array.from({ length: 1_000 }, () => timer(farAhead(), `${receiver.url}/late`)),
      })
      if (left % 200 === 0) progress(`filling, ${count(left * 1_000)} to go`)
    }
  }
  await Promise.all([caller(), caller(), caller()])
}

/** Creates each second's timers a few seconds ahead, due evenly over it. */
const fire = async (
  service: Service,
  receiver: ChildServer,
  seconds: number,
): Promise<ReadonlyArray<number>> => {
  await fetch(`${receiver.url}/reset`)
  const firstDue = Date.now() + 3_000
  for (let second = 0; second < seconds; second++) {
    const begin = firstDue + second * 1_000
    while (Date.now() < begin - 3_000) await Bun.sleep(begin - 3_000 - Date.now())
    const step = 1_000 / firesPerSecond
    await service.post("/timers/createMany", {
      timers: Array.from({ length: firesPerSecond }, (_, index) =>
        timer(begin + Math.floor(index * step), `${receiver.url}/late`),
      ),
    })
  }
  const wanted = seconds * firesPerSecond
  const deadline = firstDue + seconds * 1_000 + 60_000
  await Bun.sleep(firstDue + seconds * 1_000 - Date.now())
  for (;;) {
    const { latenessMs } = (await (await fetch(`${receiver.url}/counts`)).json()) as {
      readonly latenessMs: ReadonlyArray<number>
    }
    if (latenessMs.length >= wanted) return latenessMs
    if (Date.now() > deadline) throw new Error(`${latenessMs.length} of ${wanted} delivered in time`)
    await Bun.sleep(50)
  }
}

const timer = (executeAt: number, callbackUrl: string) => ({
  namespace: "bench",
  executeAt: new Date(executeAt).toISOString(),
  callbackUrl,
  payload: JSON.parse(payload.toString()),
})
