// graphile-worker 0.18 on PostgreSQL: jobs with runAt. Jobs of the future are found by polling alone, so it polls often;
// otherwise with the settings that its page on performance was measured with: jobs are fetched and completed in batches.

import { Logger } from "@graphile/logger"
import { makeWorkerUtils, run } from "graphile-worker"

const concurrentJobs = 24

const logger = new Logger(() => () => {})

export const open = (url) => {
  let utils
  let runner
  return {
    ready: async () => {
      utils = await makeWorkerUtils({ connectionString: url, logger, maxPoolSize: 20 })
      await utils.migrate()
    },
    add: (id, dueAtMs, payload) => utils.addJob("fire", { id, ...payload }, { runAt: new Date(dueAtMs) }),
    addMany: (timers, payload) =>
      utils.addJobs(
        timers.map(({ id, dueAtMs }) => ({
          identifier: "fire",
          payload: { id, ...payload },
          runAt: new Date(dueAtMs),
        })),
      ),
    start: async (onFired) => {
      runner = await run({
        connectionString: url,
        logger,
        noHandleSignals: true,
        taskList: { fire: async ({ id }) => onFired(id) },
        preset: {
          worker: {
            concurrentJobs,
            maxPoolSize: concurrentJobs + 1,
            pollInterval: 10,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      })
    },
    // Completed jobs are removed.
    unsettled: () =>
      utils.withPgClient(async (client) => {
        const { rows } = await client.query("SELECT count(*)::int AS left FROM graphile_worker._private_jobs")
        return rows[0].left
      }),
    close: async () => {
      await runner?.stop()
      await utils?.release()
    },
  }
}
