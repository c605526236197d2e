// The settings that all systems share.
export { samplePayload as payload } from "../src/samplePayload.ts"

export const queueName = "bench"

/** How many jobs a worker may run at once. */
export const concurrency = 200
