// pg-boss 12 on PostgreSQL: jobs with startAfter. Several workers start one after another, and each polls as often as
// pg-boss allows, so that one of them polls every few milliseconds. Workers fetch batches, and fetch the next one without
// a pause while batches are full.
import { PgBoss } from "pg-boss"
import { queueName } from "../setting.mjs"

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
    start: async (onFired) => {
      const options = {
        batchSize,
        pollingIntervalSeconds: pollEveryMs / 1_000,
        burstWhenBatchFull: true,
      }
      for (let worker = 0; worker < workers; worker++) {
        await boss.work(queueName, options, async (jobs) => {
          for (const { id } of jobs) onFired(id)
        })
        await new Promise((resolve) => setTimeout(resolve, pollEveryMs / workers))
      }
    },
    unsettled: async () => {
      const { rows } = await boss
        .getDb()
        .executeSql("SELECT count(*)::int AS left FROM pgboss.job WHERE name = $1 AND state <> 'completed'", [
          queueName,
        ])
      return rows[0].left
    },
    close: () => boss.stop({ graceful: false }),
  }
}

/** The shortest interval that pg-boss allows. */
const pollEveryMs = 500
const workers = 10
const batchSize = 1_000
const keptSeconds = 30 * 86_400
