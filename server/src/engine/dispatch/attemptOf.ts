// The attempt of a flight, ready to run, and the moment when its request is sent.
import { type Effect, Exit } from "effect"
import { latenessMs } from "../../domain/latenessMs.ts"
import type { Delivery, OngoingAttempt } from "../../ports/Deliverer.ts"
import type { DispatcherParts } from "./DispatcherParts.ts"
import { noDeliverer } from "./deliveryOf.ts"
import type { Flight } from "./Flight.ts"
import { fireOf } from "./fireOf.ts"

export const attemptOf = (
  { deliverers, confirmed, spans }: Pick<DispatcherParts, "deliverers" | "confirmed" | "spans">,
  flight: Flight,
  onSent: () => void,
): Effect.Effect<Delivery> | OngoingAttempt => {
  const { timer, home } = flight.entry
  const { target, death } = timer.spec
  const deliverer = deliverers.get(target.type)
  if (deliverer === undefined) return Exit.succeed(noDeliverer(target.type))
  spans?.begin(flight)
  const fire = fireOf(flight)
  if (death !== undefined) return confirmed(timer, deliverer.deliver(fire, onSent), () => home.mayStart())
  return deliverer.begin?.(fire, onSent) ?? deliverer.deliver(fire, onSent)
}

/** Lateness counts up to this moment. Only the first request of an arming counts. */
export const noteSent = (
  { wall, metrics, activity }: Pick<DispatcherParts, "wall" | "metrics" | "activity">,
  flight: Flight,
): void => {
  if (flight.sentAt !== undefined) return
  const { entry, attempt } = flight
  flight.sentAt = wall.now()
  if (attempt === 1 && !entry.isSent) {
    const late = latenessMs(entry.timer, flight.sentAt)
    metrics.started(late)
    activity?.sent(entry.timer.namespace, entry.host ?? "", late)
  }
  entry.isSent = true
}
