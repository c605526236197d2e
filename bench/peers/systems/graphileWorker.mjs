// graphile-worker 0.18 on PostgreSQL: jobs with runAt. It finds future jobs only by polling, so it polls often here. The
// other settings are those of its performance page: it fetches and completes jobs in batches.

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
    // graphile-worker removes completed jobs.
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
