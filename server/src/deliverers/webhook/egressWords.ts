// How refusals and reports of the egress rules speak of timers.
import type { EgressWords } from "@punctual/egress/makeEgressGate"

export const egressWords: EgressWords = {
  setting: "TIMER_EGRESS",
  whenUnresolved: "A timer with this URL tries again by its retry policy.",
}
