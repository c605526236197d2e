// Work in slices waits here between two slices. There are two queues. The work of callers rests while due timers come late:
// after its slices for as long as they took. Deliveries and calls between nodes have time limits. Their queue never rests.
import { SliceQueue, type SliceQueueParts } from "./SliceQueue.ts"

/** Resolves after the event loop has handled what else is ready: requests, answers, due timers. */
export const nextTurn = (): Promise<void> => callers.next()

/** The same for deliveries and for calls between nodes. It does not wait for the work of callers. */
export const nextUrgentTurn = (): Promise<void> => urgent.next()

/** Due timers came late. For a while, the slices of callers use about half of the time at most. */
export const restBetweenSlices = (): void => callers.restForAWhile()

const ofTheRuntime: SliceQueueParts = {
  nowMs: () => performance.now(),
  soon: (task) => void setImmediate(task),
  after: (delayMs, task) => void setTimeout(task, delayMs),
}

const callers = new SliceQueue(ofTheRuntime)
const urgent = new SliceQueue(ofTheRuntime)
