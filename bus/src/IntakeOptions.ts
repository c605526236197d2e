// The limits and delays of the intake. They are the same for every broker.
export interface IntakeOptions {
  /** How long the broker waits for an answer before it delivers a message again. */
  readonly ackWaitMs: number
  /** The delay after the first failure, the second, and so on. A failure after the last makes it undeliverable. */
  readonly retryDelaysMs: ReadonlyArray<number>
  /** The limit of messages that are taken from the broker and not answered yet. */
  readonly heldAtMost: number
  /** The limit of handlers that run at the same time. */
  readonly handlersAtMost: number
  /** How long running handlers may take to finish when the intake closes. */
  readonly closeWithinMs: number
}

export const defaultIntakeOptions: IntakeOptions = {
  ackWaitMs: 30_000,
  retryDelaysMs: [1_000, 5_000, 25_000, 25_000],
  heldAtMost: 1_000,
  handlersAtMost: 256,
  closeWithinMs: 5_000,
}
