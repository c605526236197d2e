// The caller of a call. There is no authentication yet: everyone is the same caller and may do everything. When keys
// exist, each key becomes a caller, and the calls need no change.
import type { Action } from "@punctual/api/CallTerms"

export interface Caller {
  /** For logs, and for records of who did what. */
  readonly name: string
  /** Whether the caller may do this in a namespace, or to the whole service if `namespace` is `undefined`. */
  may(action: Action, namespace: string | undefined): boolean
}

export const anonymous: Caller = { name: "anonymous", may: () => true }
