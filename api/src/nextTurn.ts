// Work in slices waits here between two slices. Only one slice runs in each turn of the event loop, however many requests
// are worked on: otherwise forty requests, each with a short slice, would hold the engine's thread for forty slices.

const waiting: Array<() => void> = []
let next = 0

/** Resolves after the event loop has handled what else is ready: requests, answers, due timers. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) - next === 1) setImmediate(serve)
  })

const serve = (): void => {
  waiting[next++]?.()
  if (next < waiting.length) setImmediate(serve)
  else {
    waiting.length = 0
    next = 0
  }
}
