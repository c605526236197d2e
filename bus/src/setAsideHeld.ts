// Stores a message as undeliverable for the intake: which facts are kept, how long it may take, and what is logged.
import { Effect } from "effect"
import type { FailureMemory } from "./FailureMemory.ts"
import type { Incoming } from "./Incoming.ts"
import type { UndeliverableFacts } from "./Undeliverable.ts"

export interface SettingAside {
  readonly incoming: Incoming
  readonly tenant: string
  readonly group: string
  readonly delivery: number
  readonly reason: UndeliverableFacts["reason"]
  readonly failures: FailureMemory
  readonly nowMs: number
  readonly withinMs: number
}

/** Returns whether the message is stored. */
export const setAsideHeld = ({
  incoming,
  tenant,
  group,
  delivery,
  reason,
  failures,
  nowMs,
  withinMs,
}: SettingAside): Effect.Effect<boolean> => {
  const { messageKey } = incoming
  const { first, last } =
    failures.of(messageKey) ?? failures.note(messageKey, { at: nowMs, error: unexplained(delivery) })
  const facts = { reason, group, deliveries: delivery, firstFailure: first, lastFailure: last }
  return Effect.suspend(() => incoming.setAside(tenant, facts)).pipe(
    Effect.timeout(withinMs),
    Effect.andThen(
      Effect.logWarning(`a message of tenant ${tenant} is undeliverable, ${reason}: ${last.error}`),
    ),
    Effect.as(true),
    Effect.catchCause((cause) =>
      Effect.as(
        Effect.logWarning(
          `an undeliverable message of tenant ${tenant} could not be stored; the broker will deliver it again`,
          cause,
        ),
        false,
      ),
    ),
  )
}

/** The error of an undeliverable message whose failures happened in a process that has ended. */
const unexplained = (delivery: number): string =>
  `this is delivery ${delivery}; the earlier deliveries were not answered, and this process does not know why`
