// One attempt, as its target sees it.
import type { Fire } from "../../ports/Deliverer.ts"
import type { Flight } from "./DispatcherParts.ts"

export const fireOf = ({ entry: { timer, home }, attempt, startedAt }: Flight): Fire => {
  const { target, death } = timer.spec
  return {
    namespace: timer.namespace,
    timerId: timer.timerId,
    fireId: timer.fireId,
    attempt,
    maxAttempts: timer.spec.retryPolicy.maxAttempts,
    epoch: home.epoch,
    revision: timer.revision,
    executeAt: timer.executeAt,
    firedAt: startedAt,
    correlationId: timer.correlationId,
    ...(timer.tags === undefined ? undefined : { tags: timer.tags }),
    ...(timer.traceparent === undefined ? undefined : { traceparent: timer.traceparent }),
    ...(death === undefined ? undefined : { death }),
    target,
    payload: timer.payload,
  }
}
