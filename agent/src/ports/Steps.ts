// Named steps on the way of a call, from its submission to its outcome. In production nothing happens at them. Tests use
// them to stop the process exactly there, because a crash between two steps is where a promise could break.
import { Context, Effect } from "effect"
import type { CallKey } from "../domain/ServiceCall.ts"

export const stepNames = [
  "submit.stored",
  "outbox.beforePublish",
  "outbox.published",
  "outbox.removed",
  "orchestration.beforeCommit",
  "orchestration.committed",
  "execution.claimed",
  "execution.calling",
  "execution.called",
  "execution.ended",
] as const

export type StepName = (typeof stepNames)[number]

export interface StepHook {
  reached(step: StepName, key: CallKey): Effect.Effect<void>
}

export const Steps = Context.Reference<StepHook>("punctual/agent/Steps", {
  defaultValue: () => ({ reached: () => Effect.void }),
})
