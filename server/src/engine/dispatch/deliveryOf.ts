// The result of an attempt that a deliverer may have left unfinished.
import { Cause, Exit } from "effect"
import type { Delivery } from "../../ports/Deliverer.ts"

/** The result of an attempt. */
export const deliveryOf = (exit: Exit.Exit<Delivery>): Delivery =>
  Exit.isSuccess(exit)
    ? exit.value
    : {
        kind: "retry",
        error: `the attempt failed unexpectedly: ${Cause.pretty(exit.cause)}`.slice(0, 200),
        isHostFailure: false,
      }

/** The attempt was ended because it was silent and others needed its slot. */
export const abandoned: Delivery = {
  kind: "retry",
  error: "ended without an answer, because other deliveries needed its place",
  isHostFailure: true,
}

/** This process cannot deliver to targets of the type. */
export const noDeliverer = (type: string): Delivery => ({
  kind: "retry",
  error: `this process has no deliverer for targets of type ${type}`,
  isHostFailure: false,
})
