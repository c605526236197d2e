/** Resolves after the event loop has handled what else is ready: requests, answers, due timers. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
