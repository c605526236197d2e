// `punctual keys create`: makes a key. With --admin it needs neither a running service nor another key.
import { actions } from "@punctual/api/CallTerms"
import { everything, roleNames } from "@punctual/api/KeyRights"
import { NewKeyAnswer } from "@punctual/api/Keys"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { countGiven, durationFlag, instantFlag, textFlag } from "../timers/TimerFlags.ts"
import { accessKeys, type KeyCommandParts, keyAccessFlags } from "./KeyAccess.ts"
import { keyOutFlag, putOut } from "./KeyOutput.ts"

const path = ["keys", "create"]

const rightsFlags = {
  admin: switchFlag("admin", "An administrator's key, which may do everything; opens the store itself"),
  label: textFlag(
    "label",
    "TEXT",
    "What the key is for, or who has it (default with --admin: administrator)",
  ),
  role: Flag.Literals("role", roleNames).pipe(
    Flag.withMetavar("ROLE"),
    Flag.withDescription(
      "app: timers and their payloads; viewer: read all but payloads; operator: all but keys; admin: everything",
    ),
    Flag.optional,
  ),
  actions: Flag.Literals("action", [...actions, everything]).pipe(
    Flag.withMetavar("ACTION"),
    Flag.withDescription("Instead of a role: one action, such as timers.read; give the flag for each action"),
    Flag.atLeast(0),
  ),
  namespaces: Flag.String("namespace").pipe(
    Flag.withMetavar("NAMESPACE"),
    Flag.withDescription(
      "Where the key may act: a name, or a prefix such as 'team-*'; give the flag for each (default: everywhere)",
    ),
    Flag.atLeast(0),
  ),
  expiresIn: durationFlag(
    "expires-in",
    "When the key stops working, as a duration from now (default: never)",
  ),
  expiresAt: instantFlag("expires-at", "The same as an instant"),
}

interface RightsAsked {
  readonly admin: boolean
  readonly label: Option.Option<string>
  readonly role: Option.Option<string>
  readonly actions: ReadonlyArray<string>
  readonly namespaces: ReadonlyArray<string>
  readonly expiresIn: Option.Option<string>
  readonly expiresAt: Option.Option<string>
}

export const keysCreateCommand = (parts: KeyCommandParts) =>
  Command.make(
    "create",
    { ...rightsFlags, keyOut: keyOutFlag, ...keyAccessFlags(parts) },
    ({ keyOut, json, url, readKey, store, direct, ...rights }) =>
      Effect.gen(function* () {
        const wrong = whyNotRights(rights, Option.isSome(url))
        if (wrong !== undefined) return yield* Effect.fail(misuse(path, wrong))
        const { admin } = rights
        const rules = { path, creates: admin, ...(admin ? { byDefault: "store" as const } : {}) }
        const keys = yield* accessKeys(parts, { url, readKey, store, direct }, rules)
        const make = keys.ask({ name: "create", fields: fieldsOf(rights), answer: NewKeyAnswer })
        yield* putOut(make, { keyOut, json, did: "Made" })
        if (admin) {
          yield* (yield* Output).remark(
            "A running service accepts the key within a second, and from then on every call needs a key.",
          )
        }
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Make a key. Its text is shown once and goes to stdout alone.",
        "  --admin makes an administrator's key in the store itself (--store, or the store that the settings name), whether a",
        "  service runs or not. Use it for the first key, and if all keys are lost. All other keys are made by the service,",
        "  by a key that may manage keys. A key cannot make a key with more rights than its own.",
      ].join("\n"),
    ),
    Command.withShortDescription("Make a key"),
    Command.withExamples([
      { command: "punctual keys create --admin --key-out ./admin.key" },
      { command: "punctual keys create --label billing --role app --namespace billing" },
      { command: "punctual keys create --label audit --action timers.read --expires-in 90d" },
    ]),
  )

const whyNotRights = (rights: RightsAsked, isUrlGiven: boolean): string | undefined => {
  const { admin, label, role, namespaces, expiresIn, expiresAt } = rights
  if (countGiven(admin, Option.isSome(role), rights.actions.length > 0) !== 1) {
    return "Say what the key may do: --role, or --action, or --admin."
  }
  if (!admin && Option.isNone(label)) return "Say what the key is for: --label."
  if (admin && namespaces.length > 0) return "--admin is for all namespaces: use --role and --namespace."
  if (admin && isUrlGiven) {
    return "--admin writes to the store itself. To let a service make an administrator's key, use --role admin."
  }
  return countGiven(Option.isSome(expiresIn), Option.isSome(expiresAt)) > 1
    ? "Give only one of --expires-in and --expires-at."
    : undefined
}

const fieldsOf = ({ admin, label, role, namespaces, expiresIn, expiresAt, ...rights }: RightsAsked) => ({
  label: Option.getOrElse(label, () => "administrator"),
  role: admin ? "admin" : Option.getOrUndefined(role),
  actions: rights.actions.length === 0 ? undefined : rights.actions,
  namespaces: namespaces.length === 0 ? undefined : namespaces,
  expiresIn: Option.getOrUndefined(expiresIn),
  expiresAt: Option.getOrUndefined(expiresAt),
})
