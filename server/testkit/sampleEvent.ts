// Events for tests.
import type { TimerEvent } from "../src/domain/TimerEvent.ts"

export const sampleEvent = (more: Partial<TimerEvent> = {}): TimerEvent => ({
  type: "created",
  namespace: "shop",
  timerId: "t",
  fireId: "f",
  at: 5,
  state: "pending",
  ...more,
})
