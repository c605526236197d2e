// Who asks. There is no authentication yet: everyone is the same caller, who may do everything. Whoever checks keys one
// day makes a caller of each key, and the calls need not change.
import type { Action } from "@punctual/api/CallTerms"

export interface Caller {
  /** For logs, and for records of who did what. */
  readonly name: string
  /** Whether the caller may do this in a namespace; without one, whether it may do this to the whole service. */
  may(action: Action, namespace: string | undefined): boolean
}

export const anonymous: Caller = { name: "anonymous", may: () => true }
