/**
 * A page of due timers ends when its payloads and texts have this many bytes. Without this limit a page of large timers
 * would hold the engine's thread for seconds, and take hundreds of megabytes.
 *
 * The limit is not part of TimerStore.ts, because threads of stores need it, and start faster without Effect.
 */
export const duePageBytes = 2 * 1024 * 1024
