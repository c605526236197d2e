// The settings of namespaces, for operators. This file seals secrets, and answers show only their fingerprints.
import { invalidField } from "@punctual/api/invalidRequest"
import { type Limits, pageBytesMax } from "@punctual/api/Limits"
import type {
  GetNamespace,
  KeptSecret,
  ListNamespaces,
  ListNamespacesAnswer,
  NamespaceAnswer,
  PutNamespace,
  PutNamespaceAnswer,
} from "@punctual/api/NamespaceSettings"
import type { Problem } from "@punctual/api/Problem"
import { completeRetryPolicy } from "@punctual/api/RetryPolicy"
import { completeOnDead } from "@punctual/api/Target"
import { secretBytes } from "@punctual/api/WebhookSecret"
import type { Caller } from "@punctual/door/Caller"
import { forbidden } from "@punctual/door/Gate"
import { Effect } from "effect"
import { editSettings, type SettingsEdit } from "../domain/editSettings.ts"
import type { SealedSecret } from "../domain/NamespaceSettings.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import type { CannotSeal, ReadyToSeal } from "../engine/namespaces/SealingKeys.ts"
import type { SettingsRecord } from "../engine/namespaces/SettingsRecords.ts"
import { Deliverers } from "../ports/Deliverer.ts"
import { WallClock } from "../ports/WallClock.ts"
import type { Call } from "./Call.ts"
import { refuseChange, refuseRead } from "./problemOf.ts"
import { reachableNames } from "./reachableNames.ts"
import { settingsChange } from "./settingsChange.ts"
import { shownSettings } from "./shownSettings.ts"
import { targetRefusal } from "./targetRefusal.ts"
import { type CommandTerms, whyEgressRefused, whyNoTarget } from "./timerCommand.ts"

export interface NamespaceCalls {
  readonly put: Call<PutNamespace, PutNamespaceAnswer>
  readonly get: Call<GetNamespace, NamespaceAnswer>
  readonly list: Call<ListNamespaces, ListNamespacesAnswer>
}

/** Counting stops at this number, because a list counts many namespaces. */
const countAtMost = 10_000
const countedAtOnce = 4

export const makeNamespaceCalls = (
  limits: Limits,
): Effect.Effect<NamespaceCalls, never, NamespaceDirectory | Scheduler | Deliverers | WallClock> =>
  Effect.gen(function* () {
    const directory = yield* NamespaceDirectory
    const view = viewing(directory, yield* Scheduler)
    const wall = yield* WallClock
    const { byType } = yield* Deliverers
    const terms: Pick<CommandTerms, "targetTypes" | "refusalOf"> = {
      targetTypes: new Set(byType.keys()),
      refusalOf: targetRefusal(byType),
    }
    return {
      put: ({ body, caller, note }) => {
        const nowMs = wall.now()
        // Whoever chooses the target of onDead can read the payloads of dead timers there.
        if (body.onDead != null && !caller.may("payload.read", body.namespace)) {
          return Effect.fail(forbidden("payload.read", body.namespace))
        }
        const onDead = body.onDead && completeOnDead(body.onDead, limits)
        const refused =
          whyNoTarget(onDead ?? undefined, "onDead", { pointer: "" }, terms) ??
          whyEgressRefused(onDead ?? undefined, "onDead/url", { pointer: "" }, terms)
        if (refused !== undefined) return Effect.fail(refused)
        return Effect.gen(function* () {
          const { edit, madeFile } = yield* editOf(body, directory, onDead)
          note?.({ about: { namespace: body.namespace } })
          let before: SettingsRecord["settings"] = {}
          const record = yield* directory.change(body.namespace, nowMs, (settings) => {
            before = settings
            return Effect.map(edit(settings), (changes) => editSettings(settings, changes, nowMs))
          })
          note?.(settingsChange(before, record.settings))
          return {
            settings: shownSettings(record, caller),
            ...(madeFile === undefined ? {} : { madeSealingKey: { file: madeFile } }),
          }
        }).pipe(Effect.catch(refuseChange))
      },
      get: ({ body, caller }) =>
        view(body.namespace, caller).pipe(
          Effect.map((settings) => ({ settings })),
          Effect.catch(refuseRead),
        ),
      list: ({ body, caller }) => listing(directory, view, body, caller, limits),
    }
  })

type View = NamespaceAnswer["settings"]

const viewing = (directory: NamespaceDirectory["Service"], scheduler: Scheduler["Service"]) =>
  Effect.fnUntraced(function* (namespace: string, caller: Caller) {
    const record = yield* directory.stored(namespace)
    const pending = yield* scheduler.count({ namespace, state: "pending", limit: countAtMost })
    const dead = yield* scheduler.count({ namespace, state: "dead", limit: countAtMost })
    return { ...shownSettings(record, caller), pending, dead } satisfies View
  })

const listing = (
  directory: NamespaceDirectory["Service"],
  view: ReturnType<typeof viewing>,
  asked: ListNamespaces,
  caller: Caller,
  limits: Limits,
): Effect.Effect<ListNamespacesAnswer, Problem> => {
  const after = asked.cursor === undefined ? "" : nameOf(asked.cursor)
  if (after === undefined) {
    return Effect.fail(invalidField("/cursor", "must be the nextCursor of an earlier answer"))
  }
  const limit = asked.limit ?? limits.namespacePage
  return Effect.gen(function* () {
    // It asks for one more than it shows, to find out whether there are more.
    const names = yield* reachableNames(caller.rights, directory.names, {
      exclusiveAfter: after,
      limit: limit + 1,
      prefix: asked.prefix ?? "",
    })
    const shownNames = names.slice(0, limit)
    const namespaces: Array<View> = []
    for (let bytes = 0; namespaces.length < shownNames.length && bytes < pageBytesMax; ) {
      const next = shownNames.slice(namespaces.length, namespaces.length + countedAtOnce)
      const views = yield* Effect.forEach(next, (name) => view(name, caller), { concurrency: countedAtOnce })
      namespaces.push(...views)
      bytes += JSON.stringify(views).length
    }
    const last = names.length > namespaces.length ? names[namespaces.length - 1] : undefined
    return { namespaces, ...(last === undefined ? {} : { nextCursor: cursorOf(last) }) }
  }).pipe(Effect.catch(refuseRead))
}

/** What the request changes. Which secrets stay depends on the settings that it changes. */
type Edit = (settings: SettingsRecord["settings"]) => Effect.Effect<SettingsEdit, Problem>

const editOf = (
  body: PutNamespace,
  directory: NamespaceDirectory["Service"],
  onDead: SettingsEdit["onDead"],
): Effect.Effect<ReadyToSeal & { readonly edit: Edit }, Problem> =>
  Effect.gen(function* () {
    const { namespace, webhookSecrets, retryPolicy, onDead: _, ...plain } = body
    const isNew = webhookSecrets?.some((secret) => typeof secret === "string") === true
    const ready = isNew ? yield* Effect.mapError(directory.readyToSeal(namespace), noKey) : {}
    const given = webhookSecrets?.map((secret) =>
      typeof secret === "string" ? directory.seal.seal(namespace, bytesOf(secret)) : secret,
    )
    const others: SettingsEdit = {
      ...plain,
      ...(webhookSecrets === null ? { webhookSecrets } : {}),
      ...(retryPolicy === undefined
        ? {}
        : { retryPolicy: retryPolicy === null ? null : completeRetryPolicy(retryPolicy) }),
      ...(onDead === undefined ? {} : { onDead }),
    }
    const edit: Edit = (settings) =>
      given === undefined
        ? Effect.succeed(others)
        : Effect.map(sealedAmong(given, settings), (sealed) => ({ ...others, webhookSecrets: sealed }))
    return { ...ready, edit }
  })

/** New secrets are sealed already. A kept one is looked up among those that the namespace has. */
const sealedAmong = (
  given: ReadonlyArray<SealedSecret | KeptSecret>,
  { webhookSecrets = [] }: SettingsRecord["settings"],
): Effect.Effect<ReadonlyArray<SealedSecret>, Problem> =>
  Effect.forEach(given, (secret, index) => {
    if ("sealed" in secret) return Effect.succeed(secret)
    const kept = webhookSecrets.find(({ fingerprint }) => fingerprint === secret.fingerprint)
    return kept === undefined
      ? Effect.fail(
          invalidField(
            `/webhookSecrets/${index}/fingerprint`,
            "is not the fingerprint of a secret of this namespace: read them with /namespaces/get",
          ),
        )
      : Effect.succeed(kept)
  })

const bytesOf = (secret: string): Uint8Array => {
  const bytes = secretBytes(secret)
  if (bytes === undefined) throw new Error("an invalid secret has passed its schema")
  return bytes
}

const noKey = ({ message }: CannotSeal): Problem => invalidField("/webhookSecrets", message)

/** The cursor is opaque to callers, so that its form can change. */
const cursorOf = (name: string): string => Buffer.from(`1:${name}`).toString("base64url")

const nameOf = (cursor: string): string | undefined => {
  const text = Buffer.from(cursor, "base64url").toString()
  return /^1:[A-Za-z0-9_-]{1,100}$/.test(text) ? text.slice(2) : undefined
}
