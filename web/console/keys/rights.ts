/** What keys may do, in words. A test compares the names with the contract. */

/** Every action, and what it allows. */
export const actionWords = {
  "timers.read": "see timers",
  "timers.write": "create and change timers",
  "timers.cancel": "cancel timers",
  "payload.read": "see payloads and headers",
  "dead.replay": "replay dead letters",
  "dead.discard": "discard dead letters",
  "namespaces.read": "see namespaces",
  "namespaces.write": "change namespaces",
  "service.read": "see the state of the service",
  "service.write": "pause and resume the service",
  "clock.advance": "move a manual clock",
  "bus.read": "see messages of the bus",
  "bus.write": "replay and discard messages of the bus",
  "metrics.read": "read metrics",
  "audit.read": "see what operators did",
  "keys.manage": "manage keys",
  "calls.read": "see calls of the Service Agent",
  "calls.write": "make calls of the Service Agent",
} as const

export type ActionName = keyof typeof actionWords

// `Object.keys` forgets the type of the names.
export const actionNames = Object.keys(actionWords) as ReadonlyArray<ActionName>

export const everything = "*"

/** These actions concern the whole service, so they need all namespaces. */
export const wholeServiceActions: ReadonlySet<string> = new Set([
  "service.read",
  "service.write",
  "clock.advance",
  "metrics.read",
  "audit.read",
  "keys.manage",
])

export const roles = {
  app: {
    label: "App",
    text: "Creates, sees and cancels timers, with their payloads. For a program.",
    actions: actionNames.filter((name) => /^(?:timers|calls)\.|^payload\.read$/.test(name)),
  },
  viewer: {
    label: "Viewer",
    text: "Sees everything except payloads. Changes nothing.",
    actions: actionNames.filter((name) => name.endsWith(".read") && name !== "payload.read"),
  },
  operator: {
    label: "Operator",
    text: "Does everything except managing keys.",
    actions: actionNames.filter((name) => name !== "keys.manage"),
  },
  admin: {
    label: "Administrator",
    text: "Does everything, also what later versions add.",
    actions: [everything],
  },
} as const

export type RoleName = keyof typeof roles

// `Object.keys` forgets the type of the names.
export const roleNames = Object.keys(roles) as ReadonlyArray<RoleName>

/** The role that has exactly these actions. */
export const roleOf = (actions: ReadonlyArray<string>): RoleName | undefined => {
  const wanted = [...actions].sort().join()
  return roleNames.find((name) => [...roles[name].actions].sort().join() === wanted)
}

/** `Viewer`, or `see timers, cancel timers`. */
export const rightsText = (actions: ReadonlyArray<string>): string => {
  const role = roleOf(actions)
  if (role !== undefined) return roles[role].label
  if (actions.length === 0) return "nothing"
  const words: Readonly<Record<string, string>> = actionWords
  return actions.map((action) => words[action] ?? action).join(", ")
}

export const namespacesText = (namespaces: ReadonlyArray<string>): string =>
  namespaces.includes(everything) ? "all namespaces" : namespaces.join(", ")

export const isAdministrator = (key: {
  readonly actions: ReadonlyArray<string>
  readonly namespaces: ReadonlyArray<string>
}): boolean => key.actions.includes(everything) && key.namespaces.includes(everything)
