// The delivery of an attempt that ended without a result of its deliverer.
import { Cause, Exit } from "effect"
import type { Delivery } from "../../ports/Deliverer.ts"

export const deliveryOf = (exit: Exit.Exit<Delivery>): Delivery =>
  Exit.isSuccess(exit)
    ? exit.value
    : {
        kind: "retry",
        error: `the attempt failed unexpectedly: ${Cause.pretty(exit.cause)}`.slice(0, 200),
        isHostFailure: false,
      }

export const noDeliverer = (type: string): Delivery => ({
  kind: "retry",
  error: `this process has no deliverer for targets of type ${type}`,
  isHostFailure: false,
})
