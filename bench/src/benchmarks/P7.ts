// How late timers fire: 1,000 a second to a webhook on loopback, with a million others pending.
import { atMost, type Benchmark, count, latenessText, percentile } from "../Benchmark.ts"
import { Receiver } from "../Receiver.ts"
import { Service } from "../Service.ts"
import { farAhead, payload } from "../work.ts"

const firesPerSecond = 1_000
const aheadMs = 3_000

export const P7: Benchmark = {
  id: "P7",
  title: "lateness at 1,000 fires a second with 1,000,000 pending (webhook, as received)",
  run: async ({ isQuick }, progress) => {
    const pending = isQuick ? 50_000 : 1_000_000
    const seconds = isQuick ? 5 : 30
    await using service = await Service.start()
    await using receiver = await Receiver.start()
    for (let filled = 0; filled < pending; filled += 50_000) {
      progress(`filling, ${count(filled)} of ${count(pending)}`)
      await service.createMany(50_000, () => timer(farAhead(), receiver))
    }
    await fire(service, receiver, seconds)
    const latenessMs = await receiver.latenessMs(seconds * firesPerSecond, 60_000)
    const earliest = percentile(latenessMs, 0)
    return {
      rows: [
        {
          name: `Punctual, ${count(pending)} pending, ${count(latenessMs.length)} fired`,
          values: latenessText(latenessMs),
        },
      ],
      verdicts: [
        atMost("p50 lateness", percentile(latenessMs, 0.5), 3, "ms"),
        atMost("p99 lateness", percentile(latenessMs, 0.99), 25, "ms"),
        { label: "earliest", value: `${earliest.toFixed(2)} ms`, target: "≥ 0 ms", isReached: earliest >= 0 },
      ],
    }
  },
}

/** Creates each second's timers a little ahead, due evenly over it, until the last is due. */
const fire = async (service: Service, receiver: Receiver, seconds: number): Promise<void> => {
  await receiver.forget()
  const firstDue = Date.now() + aheadMs
  for (let second = 0; second < seconds; second++) {
    const begin = firstDue + second * 1_000
    while (Date.now() < begin - aheadMs) await Bun.sleep(begin - aheadMs - Date.now())
    const step = 1_000 / firesPerSecond
    await service.createMany(firesPerSecond, (index) => timer(begin + Math.floor(index * step), receiver))
  }
  await Bun.sleep(firstDue + seconds * 1_000 - Date.now())
}

const timer = (executeAt: number, receiver: Receiver) => ({
  namespace: "bench",
  executeAt: new Date(executeAt).toISOString(),
  callbackUrl: receiver.timingUrl,
  payload: JSON.parse(payload.toString()),
})
