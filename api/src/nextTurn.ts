// Work in slices waits here between two slices. Only one slice runs in each turn of the event loop, however many requests
// are worked on: otherwise forty requests, each with a short slice, would hold the engine's thread for forty slices.
//
// Many short slices can make others late, too: the system prefers threads that used less processor time, and all that the
// slices cause, in a database for example, competes for the same cores. So the slices rest while something comes late.

/** From one slice to the next. A slice takes up to 2 ms, so slices that rest take at most half of the thread. */
const restMs = 4
/** For so long after each delay. */
const restingMs = 100

const waiting: Array<() => void> = []
let next = 0
let restsUntilMs = 0

/** Resolves after the event loop has handled what else is ready: requests, answers, due timers. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) - next === 1) serveSoon()
  })

/** Something that must be on time came late. For a while, work in slices leaves at least half of the thread to others. */
export const restBetweenSlices = (): void => {
  restsUntilMs = performance.now() + restingMs
}

const serve = (): void => {
  waiting[next++]?.()
  if (next < waiting.length) serveSoon()
  else {
    waiting.length = 0
    next = 0
  }
}

const serveSoon = (): void => {
  if (performance.now() < restsUntilMs) setTimeout(serve, restMs)
  else setImmediate(serve)
}
