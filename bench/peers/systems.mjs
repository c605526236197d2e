// The systems by name, each opened on its storage.
export const systems = {
  "bullmq-redis": async (at) => (await import("./systems/bullmq.mjs")).openOnRedis(at),
  "bullmq-postgres": async (at) => (await import("./systems/bullmq.mjs")).openOnPostgres(at),
  "pg-boss": async (at) => (await import("./systems/pgBoss.mjs")).open(at),
  "graphile-worker": async (at) => (await import("./systems/graphileWorker.mjs")).open(at),
  "nats-schedules": async (at) => (await import("./systems/natsSchedules.mjs")).open(at),
  bunqueue: async (at) => (await import("./systems/bunqueue.mjs")).open(at),
}
