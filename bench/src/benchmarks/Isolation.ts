// One namespace with a large overdue backlog at an endpoint that hangs; another with a timer due every 10 ms at a
// good one. The second's lateness alone, beside the first, and straight after a restart; and the service's memory.
import { type Benchmark, count, latenessText, percentile } from "../Benchmark.ts"
import { Receiver } from "../Receiver.ts"
import { Service } from "../Service.ts"

const everyMs = 10

export const Isolation: Benchmark = {
  id: "Isolation",
  title: "a tenant's timers every 10 ms beside another's 200,000 overdue at an endpoint that hangs",
  run: async ({ isQuick }, progress) => {
    const backlog = isQuick ? 20_000 : 200_000
    const timers = isQuick ? 400 : 2_000
    await using service = await Service.start()
    await using receiver = await Receiver.start()
    const rows: Array<{ readonly name: string; readonly values: string }> = []
    const measure = async (name: string): Promise<number> => {
      progress(name)
      const latenessMs = await latenessOf(service, receiver, timers)
      const residentMiB = await service.residentMiB()
      rows.push({ name, values: `${latenessText(latenessMs)}; resident ${residentMiB.toFixed(0)} MiB` })
      return percentile(latenessMs, 0.99)
    }
    const alone = await measure("alone")
    const overdue = new Date(Date.now() - 3_600_000).toISOString()
    await service.createMany(backlog, () => ({
      namespace: "hog",
      executeAt: overdue,
      callbackUrl: receiver.hangingUrl,
    }))
    const beside = await measure(`beside ${count(backlog)} overdue`)
    await service.restart()
    const restarted = await measure("straight after a restart")
    const limit = Math.max(10, 2 * alone)
    const verdict = (label: string, p99: number) => ({
      label,
      value: `${p99.toFixed(1)} ms`,
      target: `≤ ${limit.toFixed(1)} ms (twice what it was alone, or 10)`,
      isReached: p99 <= limit,
    })
    return {
      rows,
      verdicts: [verdict("p99 beside the backlog", beside), verdict("p99 after a restart", restarted)],
    }
  },
}

const latenessOf = async (
  service: Service,
  receiver: Receiver,
  timers: number,
): Promise<ReadonlyArray<number>> => {
  await receiver.forget()
  const firstDue = Date.now() + 500
  await service.createMany(timers, (index) => ({
    namespace: "good",
    executeAt: new Date(firstDue + index * everyMs).toISOString(),
    callbackUrl: receiver.timingUrl,
  }))
  await Bun.sleep(firstDue + timers * everyMs - Date.now())
  return receiver.latenessMs(timers, 60_000)
}
