// What all systems are given alike.
export { samplePayload as payload } from "../src/samplePayload.ts"

export const queueName = "bench"

/** How many jobs a worker may have under way at once. */
export const concurrency = 200
