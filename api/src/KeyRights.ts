/** What a key may do, as callers write it: a role, or actions, and namespaces. */
import { Schema } from "effect"
import { actions } from "./CallTerms.ts"

export const roleNames = ["app", "viewer", "operator", "admin"] as const

/** As an action and as a namespace: all of them, later ones included. */
export const everything = "*"

export const Role = Schema.Literals(roleNames).annotate({
  message: `must be one of ${roleNames.join(", ")}`,
  description:
    "A set of actions. app: timers and their payloads. viewer: reads everything except payloads. operator: everything except keys. admin: everything.",
})

const actionMessage = `must be an action, such as timers.read, or "${everything}" for all actions`
const actionsMessage = `must be an array of 1 to ${actions.length} different actions`

export const KeyAction = Schema.Literals([...actions, everything]).annotate({ message: actionMessage })

export const KeyActions = Schema.Array(KeyAction)
  .annotate({ message: actionsMessage })
  .check(
    Schema.isBetweenLength(1, actions.length, {
      message: actionsMessage,
      description: `What the key may do. ["${everything}"] means everything, actions of later versions included.`,
      examples: [["timers.read", "timers.write"]],
    }),
    Schema.makeFilter(
      (named: ReadonlyArray<string>) => (new Set(named).size === named.length ? undefined : actionsMessage),
      { toJsonSchema: () => ({ uniqueItems: true }) },
    ),
  )
