// Keys as text for people: a table for many, lines for one. Programs get the JSON of the contract instead.
import { formatInstant } from "@punctual/api/Instant"
import type { Key, SelfAnswer } from "@punctual/api/Keys"
import { roles } from "@punctual/door/Rights"
import { textTable } from "../frame/textTable.ts"
import { factLines } from "../timers/TimerView.ts"

export const keyTable = (keys: ReadonlyArray<Key>): string =>
  textTable([
    ["ID", "LABEL", "STATE", "MAY", "NAMESPACES", "EXPIRES", "LAST USED"],
    ...keys.map(({ id, label, state, actions, namespaces, expiresAt, lastUsedAt }) => [
      id,
      label,
      state,
      actionsText(actions),
      namespaces.join(", "),
      expiresAt === undefined ? "never" : formatInstant(expiresAt),
      lastUsedAt === undefined ? "-" : formatInstant(lastUsedAt),
    ]),
  ])

export const keyText = (key: Key): string =>
  factLines([
    ["id", key.id],
    ["label", key.label],
    ["state", key.state],
    ["may", actionsText(key.actions)],
    ["namespaces", key.namespaces.join(", ")],
    ["created", instantText(key.createdAt)],
    ["made by", key.madeBy],
    ["expires", instantText(key.expiresAt) ?? "never"],
    ["revoked", instantText(key.revokedAt)],
    ["last used", instantText(key.lastUsedAt)],
    ["old text until", instantText(key.oldSecretUntil)],
  ])

export const selfText = ({ name, keyId, keysRequired, actions, namespaces, expiresAt }: SelfAnswer): string =>
  factLines([
    ["name", name],
    ["key", keyId],
    ["keys needed", keysRequired ? "yes" : "no"],
    ["may", actionsText(actions)],
    ["namespaces", namespaces.join(", ")],
    ["expires", instantText(expiresAt)],
  ])

/** One line: which key this is and what it may do. */
export const keyLine = ({ id, label, actions, namespaces, expiresAt }: Key): string =>
  `${id} (${label}): ${actionsText(actions)} in ${namespaces.join(", ")}${expiresAt === undefined ? "" : `, until ${formatInstant(expiresAt)}`}`

/** After a rotation: how long the previous text of the key works. */
export const oldTextLine = ({ oldSecretUntil }: Key): string =>
  oldSecretUntil === undefined
    ? "The old text does not work any more."
    : `The old text works until ${formatInstant(oldSecretUntil)}.`

/** The name of the role that has these actions, or the actions. */
const actionsText = (actions: Key["actions"]): string => {
  const role = Object.entries(roles).find(([, ofRole]) => ofRole.join() === actions.join())
  return role === undefined ? actions.join(", ") : role[0]
}

const instantText = (instantMs: number | undefined): string | undefined =>
  instantMs === undefined ? undefined : formatInstant(instantMs)
