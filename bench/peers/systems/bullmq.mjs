// BullMQ 6, on Redis or on PostgreSQL: delayed jobs, one queue, one worker.
import { createPostgresBackend, Queue, Worker, withBackend } from "bullmq"
import { concurrency, queueName } from "../setting.mjs"

const options = { defaultJobOptions: { removeOnComplete: true, removeOnFail: true } }

const open = (Queues, Workers, connection) => {
  const queue = new Queues(queueName, { connection, ...options })
  let worker
  const delayed = (id, dueAtMs) => ({ jobId: id, delay: Math.max(0, dueAtMs - Date.now()) })
  return {
    ready: () => queue.waitUntilReady(),
    add: (id, dueAtMs, payload) => queue.add("fire", payload, delayed(id, dueAtMs)),
    addMany: (timers, payload) =>
      queue.addBulk(
        timers.map(({ id, dueAtMs }) => ({ name: "fire", data: payload, opts: delayed(id, dueAtMs) })),
      ),
    start: async (onFired) => {
      worker = new Workers(queueName, async (job) => onFired(job.id), { connection, concurrency })
      await worker.waitUntilReady()
    },
    // BullMQ removes completed jobs, and no job fails.
    unsettled: async () => {
      const counts = await queue.getJobCounts("waiting", "active", "delayed", "prioritized", "failed")
      return Object.values(counts).reduce((sum, count) => sum + count, 0)
    },
    close: async () => {
      await worker?.close(true)
      await queue.close()
    },
  }
}

export const openOnRedis = (url) => {
  const { hostname: host, port } = new URL(url)
  return open(Queue, Worker, { host, port: Number(port), maxRetriesPerRequest: null })
}

export const openOnPostgres = (url) => {
  const { Queue: PostgresQueue, Worker: PostgresWorker } = withBackend(createPostgresBackend)
  return open(PostgresQueue, PostgresWorker, { connectionString: url, migrate: true, max: 20 })
}
