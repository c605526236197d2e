// One namespace with a large overdue backlog at an endpoint that hangs; another with a timer due every 10 ms at a
// good one. The second's lateness alone, beside the first, and straight after a restart; and the service's memory.
import { type Benchmark, count, percentile } from "../Benchmark.ts"
import { ChildServer } from "../ChildServer.ts"
import { Service } from "../Service.ts"

const everyMs = 10

export const Isolation: Benchmark = {
  id: "Isolation",
  title: "a tenant's timers every 10 ms beside another's 200,000 overdue at an endpoint that hangs",
  run: async ({ isQuick }, progress) => {
    const backlog = isQuick ? 20_000 : 200_000
    const seconds = isQuick ? 4 : 20
    const service = await Service.start()
    const receiver = await ChildServer.start(new URL("../bare/receiver.ts", import.meta.url))
    const measure = () => lateness(service, receiver, seconds)
    try {
      const alone = await measure()
      const memoryBefore = await service.residentMiB()
      await pileUp(service, receiver, backlog, progress)
      const beside = await measure()
      const memoryBeside = await service.residentMiB()
      // These are due as the service comes up: they wait for its start, and must not wait for the backlog.
      await service.restart()
      const restarted = await measure()
      const memoryRestarted = await service.residentMiB()
      const row = (name: string, values: ReadonlyArray<number>, memoryMiB: number) => ({
        name,
        values: `p50 ${percentile(values, 0.5).toFixed(1)} ms, p99 ${percentile(values, 0.99).toFixed(1)} ms, highest ${percentile(values, 1).toFixed(1)} ms; resident ${memoryMiB.toFixed(0)} MiB`,
      })
      const limit = Math.max(10, 2 * percentile(alone, 0.99))
      const verdict = (label: string, values: ReadonlyArray<number>) => {
        const value = percentile(values, 0.99)
        return {
          label,
          value: `${value.toFixed(1)} ms`,
          target: `≤ ${limit.toFixed(1)} ms (twice what it was alone, or 10)`,
          isReached: value <= limit,
        }
      }
      return {
        rows: [
          row("alone", alone, memoryBefore),
          row(`beside ${count(backlog)} overdue`, beside, memoryBeside),
          row("straight after a restart", restarted, memoryRestarted),
        ],
        verdicts: [verdict("p99 beside the backlog", beside), verdict("p99 after a restart", restarted)],
      }
    } finally {
      await Promise.all([service.stop(), receiver.stop()])
    }
  },
}

const pileUp = async (
  service: Service,
  receiver: ChildServer,
  timers: number,
  progress: (message: string) => void,
) => {
  const executeAt = new Date(Date.now() - 3_600_000).toISOString()
  const timer = { namespace: "hog", executeAt, callbackUrl: `${receiver.url}/hang` }
  for (let created = 0; created < timers; created += 1_000) {
    await service.post("/timers/createMany", { timers: Array.from({ length: 1_000 }, () => timer) })
    if (created % 50_000 === 0) progress(`piling up, ${count(created)} of ${count(timers)}`)
  }
}

const lateness = async (
  service: Service,
  receiver: ChildServer,
  seconds: number,
): Promise<ReadonlyArray<number>> => {
  await fetch(`${receiver.url}/reset`)
  const firstDue = Date.now() + 1_000
  const wanted = (seconds * 1_000) / everyMs
  await service.post("/timers/createMany", {
    timers: Array.from({ length: Math.min(1_000, wanted) }, (_, index) =>
      timerOf(receiver, firstDue + index * everyMs),
    ),
  })
  if (wanted > 1_000) {
    await service.post("/timers/createMany", {
      timers: Array.from({ length: wanted - 1_000 }, (_, index) =>
        timerOf(receiver, firstDue + (1_000 + index) * everyMs),
      ),
    })
  }
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

const timerOf = (receiver: ChildServer, executeAt: number) => ({
  namespace: "good",
  executeAt: new Date(executeAt).toISOString(),
  callbackUrl: `${receiver.url}/late`,
})
