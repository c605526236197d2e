// The time by which work is paced. Tests have their own.

export interface PaceClock {
  /** Monotonic. */
  readonly nowMs: () => number
  /** Runs the work once, after this time. */
  readonly after: (delayMs: number, work: () => void) => void
}

/** Waiting work does not keep the process alive. */
export const systemPaceClock: PaceClock = {
  nowMs: () => performance.now(),
  after: (delayMs, work) => void setTimeout(work, delayMs).unref(),
}
