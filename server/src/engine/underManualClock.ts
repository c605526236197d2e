// The options of an engine whose clock only moves when a caller asks for it.
import type { EngineOptions } from "./Engine.ts"

/**
 * A manual clock jumps to far instants, so the window covers the whole range of timers. A host that is down must not
 * hold the clock up. Breakers and slots for slow hosts wait in real time, so they are not used. Nothing would end the wait
 * of a write, so writes do not wait.
 */
export const underManualClock = (options: EngineOptions): EngineOptions => ({
  ...options,
  window: { ...options.window, lookAheadMs: 20 * 366 * 86_400_000 },
  queue: { ...options.queue, waitMs: 0 },
  dispatch: {
    ...options.dispatch,
    slow: 0,
    trial: 0,
    breaker: { ...options.dispatch.breaker, failures: Number.POSITIVE_INFINITY },
  },
})
