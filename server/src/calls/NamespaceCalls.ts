// The settings of namespaces, for operators. This file seals secrets, and answers show only their fingerprints.
import { invalidField } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import type {
  GetNamespace,
  ListNamespaces,
  ListNamespacesAnswer,
  NamespaceAnswer,
  PutNamespace,
  PutNamespaceAnswer,
} from "@punctual/api/NamespaceSettings"
import type { Problem } from "@punctual/api/Problem"
import { completeRetryPolicy, shownRetryPolicy } from "@punctual/api/RetryPolicy"
import { completeOnDead } from "@punctual/api/Target"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { Effect } from "effect"
import { editSettings, type SettingsEdit } from "../domain/editSettings.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import type { CannotSeal, ReadyToSeal } from "../engine/namespaces/SealingKeys.ts"
import type { SettingsRecord } from "../engine/namespaces/SettingsRecords.ts"
import { Deliverers } from "../ports/Deliverer.ts"
import { WallClock } from "../ports/WallClock.ts"
import type { Call } from "./Call.ts"
import { refuseChange, refuseRead } from "./problemOf.ts"
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
      refusalOf: (target) => byType.get(target.type)?.gate?.refusalOf(target),
    }
    return {
      put: ({ body }) => {
        const nowMs = wall.now()
        const onDead = body.onDead && completeOnDead(body.onDead, limits)
        const refused =
          whyNoTarget(onDead ?? undefined, "onDead", { pointer: "" }, terms) ??
          whyEgressRefused(onDead ?? undefined, "onDead/url", { pointer: "" }, terms)
        if (refused !== undefined) return Effect.fail(refused)
        return Effect.gen(function* () {
          const { edit, madeFile } = yield* editOf(body, directory, onDead)
          const record = yield* directory.change(body.namespace, nowMs, (settings) =>
            Effect.succeed(editSettings(settings, edit, nowMs)),
          )
          return {
            settings: shown(record),
            ...(madeFile === undefined ? {} : { madeSealingKey: { file: madeFile } }),
          }
        }).pipe(Effect.catch(refuseChange))
      },
      get: ({ body }) =>
        view(body.namespace).pipe(
          Effect.map((settings) => ({ settings })),
          Effect.catch(refuseRead),
        ),
      list: ({ body }) => listing(directory, view, body, limits),
    }
  })

type View = NamespaceAnswer["settings"]

const viewing = (directory: NamespaceDirectory["Service"], scheduler: Scheduler["Service"]) =>
  Effect.fnUntraced(function* (namespace: string) {
    const record = yield* directory.stored(namespace)
    const pending = yield* scheduler.count({ namespace, state: "pending", limit: countAtMost })
    const dead = yield* scheduler.count({ namespace, state: "dead", limit: countAtMost })
    return { ...shown(record), pending, dead } satisfies View
  })

const listing = (
  directory: NamespaceDirectory["Service"],
  view: ReturnType<typeof viewing>,
  asked: ListNamespaces,
  limits: Limits,
): Effect.Effect<ListNamespacesAnswer, Problem> => {
  const after = asked.cursor === undefined ? "" : nameOf(asked.cursor)
  if (after === undefined) {
    return Effect.fail(invalidField("/cursor", "must be the nextCursor of an earlier answer"))
  }
  const limit = asked.limit ?? limits.namespacePage
  return Effect.gen(function* () {
    // It asks for one more than it shows, to find out whether there are more.
    const names = yield* directory.names(after, limit + 1)
    const namespaces = yield* Effect.forEach(names.slice(0, limit), view, { concurrency: countedAtOnce })
    const last = names.length > limit ? names[limit - 1] : undefined
    return { namespaces, ...(last === undefined ? {} : { nextCursor: cursorOf(last) }) }
  }).pipe(Effect.catch(refuseRead))
}

const editOf = (
  body: PutNamespace,
  directory: NamespaceDirectory["Service"],
  onDead: SettingsEdit["onDead"],
): Effect.Effect<ReadyToSeal & { readonly edit: SettingsEdit }, Problem> =>
  Effect.gen(function* () {
    const { namespace, webhookSecrets, retryPolicy, onDead: _, ...plain } = body
    const ready =
      webhookSecrets == null ? {} : yield* Effect.mapError(directory.readyToSeal(namespace), noKey)
    const sealed = webhookSecrets?.map((secret) => directory.seal.seal(namespace, bytesOf(secret)))
    const edit: SettingsEdit = {
      ...plain,
      ...(webhookSecrets === undefined ? {} : { webhookSecrets: sealed ?? null }),
      ...(retryPolicy === undefined
        ? {}
        : { retryPolicy: retryPolicy === null ? null : completeRetryPolicy(retryPolicy) }),
      ...(onDead === undefined ? {} : { onDead }),
    }
    return { ...ready, edit }
  })

const bytesOf = (secret: string): Uint8Array => {
  const bytes = secretBytes(secret)
  if (bytes === undefined) throw new Error("an invalid secret has passed its schema")
  return bytes
}

const noKey = ({ message }: CannotSeal): Problem => invalidField("/webhookSecrets", message)

const shown = ({
  namespace,
  settings,
  version,
  updatedAt,
}: SettingsRecord): PutNamespaceAnswer["settings"] => {
  const {
    webhookSecrets = [],
    retryPolicy,
    onDead,
    maxInFlight,
    maxPending,
    createsPerSecond,
    pausedSinceMs,
  } = settings
  return {
    namespace,
    webhookSecrets: webhookSecrets.map(({ fingerprint }) => ({ fingerprint })),
    ...(retryPolicy === undefined ? {} : { retryPolicy: shownRetryPolicy(retryPolicy) }),
    ...(onDead === undefined ? {} : { onDead }),
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(maxPending === undefined ? {} : { maxPending }),
    ...(createsPerSecond === undefined ? {} : { createsPerSecond }),
    paused: pausedSinceMs !== undefined,
    ...(pausedSinceMs === undefined ? {} : { pausedSince: pausedSinceMs }),
    ...(version === 0 ? {} : { updatedAt }),
  }
}

/** The cursor is opaque to callers, so that its form can change. */
const cursorOf = (name: string): string => Buffer.from(`1:${name}`).toString("base64url")

const nameOf = (cursor: string): string | undefined => {
  const text = Buffer.from(cursor, "base64url").toString()
  return /^1:[A-Za-z0-9_-]{1,100}$/.test(text) ? text.slice(2) : undefined
}
