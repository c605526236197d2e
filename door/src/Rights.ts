/**
 * What a key may do: actions in namespaces. Both are fixed when the key is made. An action that concerns the whole
 * service needs the namespace pattern `*`.
 */
import { type Action, actions } from "@punctual/api/CallTerms"
import { everything, type roleNames } from "@punctual/api/KeyRights"

export interface Rights {
  /** Actions, or only `*`, which also means actions of later versions. */
  readonly actions: ReadonlyArray<Action | typeof everything>
  /** Names, prefixes such as `team-*`, or only `*`. */
  readonly namespaces: ReadonlyArray<string>
}

export type RoleName = (typeof roleNames)[number]

/** Sets of actions, so that nobody has to read the whole list. */
export const roles = {
  app: actions.filter((action) => /^(?:timers|calls)\.|^payload\.read$/.test(action)),
  /** Payloads may contain personal data, so a viewer does not see them. */
  viewer: actions.filter((action) => action.endsWith(".read") && action !== "payload.read"),
  operator: actions.filter((action) => action !== "keys.manage"),
  admin: [everything],
} as const satisfies Record<RoleName, ReadonlyArray<Action | typeof everything>>

export const fullRights: Rights = { actions: [everything], namespaces: [everything] }

export const isFull = (rights: Rights): boolean => covers(rights, fullRights)

/** Prepared for fast checks. */
export class GrantedRights {
  readonly rights: Rights
  readonly #actions: ReadonlySet<string>
  readonly #isEveryAction: boolean
  readonly #names: ReadonlySet<string>
  readonly #prefixes: ReadonlyArray<string>
  readonly #isEveryNamespace: boolean

  constructor(rights: Rights) {
    this.rights = rights
    this.#actions = new Set(rights.actions)
    this.#isEveryAction = this.#actions.has(everything)
    this.#names = new Set(rights.namespaces.filter((pattern) => !pattern.endsWith(everything)))
    this.#prefixes = rights.namespaces.filter((pattern) => pattern.endsWith(everything)).map(prefixOf)
    this.#isEveryNamespace = rights.namespaces.includes(everything)
  }

  /** Whether the action is allowed in at least one namespace. */
  mayAnywhere(action: Action): boolean {
    return this.#isEveryAction || this.#actions.has(action)
  }

  /** `namespace`: `undefined` means the whole service. A pattern such as `team-*` means all namespaces that match it. */
  may(action: Action, namespace: string | undefined): boolean {
    return this.mayAnywhere(action) && this.reaches(namespace)
  }

  reaches(namespace: string | undefined): boolean {
    if (this.#isEveryNamespace) return true
    if (namespace === undefined || namespace === everything) return false
    return this.#names.has(namespace) || this.#prefixes.some((prefix) => namespace.startsWith(prefix))
  }
}

/** Whether `rights` include everything that `others` include. */
export const covers = (rights: Rights, others: Rights): boolean => {
  const granted = new GrantedRights(rights)
  return (
    (rights.actions.includes(everything) ||
      others.actions.every((action) => action !== everything && granted.mayAnywhere(action))) &&
    others.namespaces.every((pattern) => granted.reaches(pattern === everything ? undefined : pattern))
  )
}

const prefixOf = (pattern: string): string => pattern.slice(0, -everything.length)
