import { Badge, type Tone } from "../../kit/Badge.tsx"
import type { Timer, TimerState } from "../api.ts"

const tones: Readonly<Record<TimerState, Tone>> = {
  pending: "neutral",
  inFlight: "accent",
  delivered: "good",
  cancelled: "neutral",
  dead: "bad",
}

const labels: Readonly<Record<TimerState, string>> = {
  pending: "pending",
  inFlight: "in flight",
  delivered: "delivered",
  cancelled: "cancelled",
  dead: "dead",
}

export interface StateBadgeProps {
  readonly timer: Pick<Timer, "state" | "attempts" | "waiting">
  /** Its namespace is paused, so it will wait when it is due. */
  readonly isPaused?: boolean
}

/** The state, and for a pending timer what the reader wants to know about it: that it waits, or that it will try again. */
export const StateBadge = ({ timer, isPaused = false }: StateBadgeProps) => {
  if (timer.waiting !== undefined) return <Badge tone="warning">waiting</Badge>
  if (timer.state === "pending" && isPaused) return <Badge tone="warning">paused</Badge>
  if (timer.state === "pending" && timer.attempts > 0) return <Badge tone="warning">retrying</Badge>
  return <Badge tone={tones[timer.state]}>{labels[timer.state]}</Badge>
}
