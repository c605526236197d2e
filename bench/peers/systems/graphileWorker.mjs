// graphile-worker 0.18 on PostgreSQL: jobs with runAt. Jobs of the future are found by polling alone; with its
// batching options for fetching and completing.

import { Logger } from "@graphile/logger"
import { makeWorkerUtils, run } from "graphile-worker"
import { concurrency } from "../setting.mjs"

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
            concurrentJobs: concurrency,
            maxPoolSize: 20,
            pollInterval: 100,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      })
    },
    close: async () => {
      await runner?.stop()
      await utils?.release()
    },
  }
}
