/** Who makes a call, and what this caller may do. */
import type { Action } from "@punctual/api/CallTerms"
import { fullRights, type Rights } from "./Rights.ts"

export interface Caller {
  /** For logs, and for records of who did what: the label of the key. */
  readonly name: string
  /** The id of the key; absent if the caller has none. */
  readonly keyId?: string
  /** The address that the call came from; absent for a program that calls in its own process. */
  readonly address?: string
  /**
   * Whether the caller may do this in a namespace, in all namespaces that match a pattern such as `team-*`, or to the
   * whole service if `namespace` is `undefined`.
   */
  may(action: Action, namespace: string | undefined): boolean
  /** Whether the caller may do this in at least one namespace. */
  mayAnywhere(action: Action): boolean
  /** Everything that the caller may do. */
  readonly rights: Rights
}

/** While no keys are in force, everyone is trusted. */
export const anonymous: Caller = {
  name: "anonymous",
  may: () => true,
  mayAnywhere: () => true,
  rights: fullRights,
}

/** A program with the engine inside is trusted. */
export const ownProgram: Caller = { ...anonymous, name: "program" }
