// pg-boss 12 on PostgreSQL: jobs with startAfter, polled as often as it allows, in batches, and fetched on without
// a pause while batches come back full.
import { PgBoss } from "pg-boss"
import { concurrency, queueName } from "../setting.mjs"

export const open = (url) => {
  const boss = new PgBoss({ connectionString: url, max: 20 })
  boss.on("error", (error) => process.stderr.write(`pg-boss: ${error.message}\n`))
  return {
    ready: async () => {
      await boss.start()
      await boss.createQueue(queueName)
    },
    add: (id, dueAtMs, payload) =>
      boss.send(queueName, payload, { id, startAfter: new Date(dueAtMs), retentionSeconds: keptSeconds }),
    addMany: (timers, payload) =>
      boss.insert(
        queueName,
        timers.map(({ id, dueAtMs }) => ({
          id,
          data: payload,
          startAfter: new Date(dueAtMs),
          retentionSeconds: keptSeconds,
        })),
      ),
    start: (onFired) =>
      boss.work(
        queueName,
        { batchSize: concurrency, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
        async (jobs) => {
          for (const { id } of jobs) onFired(id)
        },
      ),
    close: () => boss.stop({ graceful: false }),
  }
}

const keptSeconds = 30 * 86_400
