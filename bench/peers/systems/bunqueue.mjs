// bunqueue 2 embedded, on an SQLite file, with durable: true. An answered add is written to the file. Its commits are not
// synced (synchronous NORMAL, without a setting to change it), so a power failure may lose the latest.
import { Queue, Worker } from "bunqueue/client"
import { concurrency, queueName } from "../setting.mjs"

export const open = (dataPath) => {
  const queue = new Queue(queueName, { embedded: true, dataPath })
  let worker
  const options = (id, dueAtMs) => ({
    jobId: id,
    delay: Math.max(0, dueAtMs - Date.now()),
    durable: true,
    removeOnComplete: true,
  })
  return {
    ready: async () => {},
    add: (id, dueAtMs, payload) => queue.add("fire", payload, options(id, dueAtMs)),
    addMany: (timers, payload) =>
      queue.addBulk(
        timers.map(({ id, dueAtMs }) => ({ name: "fire", data: payload, opts: options(id, dueAtMs) })),
      ),
    start: async (onFired) => {
      worker = new Worker(queueName, async (job) => onFired(job.id), {
        embedded: true,
        dataPath,
        concurrency,
        batchSize: concurrency,
        drainDelay: 1,
      })
    },
    unsettled: async () => {
      const { waiting, prioritized, active, delayed, failed } = await queue.getJobCountsAsync()
      return waiting + prioritized + active + delayed + failed
    },
    close: async () => {
      await worker?.close(true)
      await queue.close?.()
    },
  }
}
