// What operators set for a namespace, and what they see of it. Secrets come in and never leave: they are sealed here,
// and answers show their fingerprints.
import { formatInstant } from "@punctual/api/Instant"
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
import { Overloaded, type Problem } from "@punctual/api/Problem"
import { completeRetryPolicy, RetryPolicy } from "@punctual/api/RetryPolicy"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { Effect, Schema } from "effect"
import { editSettings, type SettingsEdit } from "../domain/editSettings.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import { NamespaceDirectory, type SettingsContended } from "../engine/namespaces/NamespaceDirectory.ts"
import type { SecretSeal } from "../engine/namespaces/SecretSeal.ts"
import type { SettingsRecord } from "../engine/namespaces/SettingsRecords.ts"
import type { StoreError } from "../ports/TimerStore.ts"
import { WallClock } from "../ports/WallClock.ts"
import type { ApiHandler } from "./ApiCall.ts"
import { refuse } from "./refusal.ts"

export interface NamespaceHandlers {
  readonly "namespaces.put": ApiHandler<PutNamespace>
  readonly "namespaces.get": ApiHandler<GetNamespace>
  readonly "namespaces.list": ApiHandler<ListNamespaces>
}

/** Counting stops here and says so: a list counts many. */
const countAtMost = 10_000
const countedAtOnce = 4

export const makeNamespaceHandlers = (
  limits: Limits,
): Effect.Effect<NamespaceHandlers, never, NamespaceDirectory | Scheduler | WallClock> =>
  Effect.gen(function* () {
    const directory = yield* NamespaceDirectory
    const scheduler = yield* Scheduler
    const wall = yield* WallClock

    const put: ApiHandler<PutNamespace> = ({ body }) => {
      const nowMs = wall.now()
      const change = Effect.flatMap(editOf(body, directory.seal), (edit) =>
        directory.change(body.namespace, nowMs, (settings) =>
          Effect.succeed(editSettings(settings, edit, nowMs)),
        ),
      )
      return change.pipe(
        Effect.map((record): string => JSON.stringify({ settings: shown(record) } satisfies Put)),
        Effect.catch(refuseChange),
      )
    }

    const view = Effect.fnUntraced(function* (namespace: string) {
      const record = yield* directory.stored(namespace)
      const pending = yield* scheduler.count({ namespace, state: "pending", limit: countAtMost })
      const dead = yield* scheduler.count({ namespace, state: "dead", limit: countAtMost })
      return { ...shown(record), pending, dead } satisfies View
    })

    const get: ApiHandler<GetNamespace> = ({ body }) =>
      view(body.namespace).pipe(
        Effect.map((settings) => JSON.stringify({ settings })),
        Effect.catch(refuse),
      )

    const list: ApiHandler<ListNamespaces> = ({ body }) => {
      const after = body.cursor === undefined ? "" : nameOf(body.cursor)
      if (after === undefined) {
        return Effect.fail(invalidField("/cursor", "must be the nextCursor of an earlier answer"))
      }
      const limit = body.limit ?? limits.namespacePage
      return Effect.gen(function* () {
        // One more than is shown tells whether there are more.
        const names = yield* directory.names(after, limit + 1)
        const namespaces = yield* Effect.forEach(names.slice(0, limit), view, { concurrency: countedAtOnce })
        const last = names.length > limit ? names[limit - 1] : undefined
        const answer: List = {
          namespaces,
          ...(last === undefined ? {} : { nextCursor: cursorOf(last) }),
        }
        return JSON.stringify(answer)
      }).pipe(Effect.catch(refuse))
    }

    return { "namespaces.put": put, "namespaces.get": get, "namespaces.list": list }
  })

type Put = typeof PutNamespaceAnswer.Encoded
type View = (typeof NamespaceAnswer.Encoded)["settings"]
type List = typeof ListNamespacesAnswer.Encoded

const editOf = (body: PutNamespace, seal: SecretSeal): Effect.Effect<SettingsEdit, Problem> => {
  const { namespace, webhookSecrets, retryPolicy, ...plain } = body
  if (webhookSecrets != null && !seal.canSeal) return Effect.fail(noKey())
  return Effect.sync(() => ({
    ...plain,
    ...(webhookSecrets === undefined
      ? {}
      : { webhookSecrets: webhookSecrets?.map((secret) => seal.seal(namespace, bytesOf(secret))) ?? null }),
    ...(retryPolicy === undefined
      ? {}
      : { retryPolicy: retryPolicy === null ? null : completeRetryPolicy(retryPolicy) }),
  }))
}

const bytesOf = (secret: string): Uint8Array => {
  const bytes = secretBytes(secret)
  if (bytes === undefined) throw new Error("something that is no secret has passed its schema")
  return bytes
}

const noKey = (): Problem =>
  invalidField(
    "/webhookSecrets",
    "cannot be kept: this service has no key to seal them with. Set TIMER_SECRET_KEY, on all nodes the same; one is made by: openssl rand -hex 32",
  )

/** Fails with the contract's problem, for a change of settings. */
export const refuseChange = (
  error: StoreError | SettingsContended | Problem,
): Effect.Effect<never, Problem> => {
  if (error._tag === "SettingsContended") {
    return Effect.fail(
      new Overloaded({
        detail: "Others change the same settings all the time. Nothing was changed: try again.",
        retryAfterSeconds: 1,
      }),
    )
  }
  return error._tag === "StoreError" ? refuse(error) : Effect.fail(error)
}

const shown = ({ namespace, settings, version, updatedAt }: SettingsRecord): Put["settings"] => {
  const {
    webhookSecrets = [],
    retryPolicy,
    maxInFlight,
    maxPending,
    createsPerSecond,
    pausedSinceMs,
  } = settings
  return {
    namespace,
    webhookSecrets: webhookSecrets.map(({ fingerprint }) => ({ fingerprint })),
    ...(retryPolicy === undefined ? {} : { retryPolicy: encodeRetryPolicy(retryPolicy) }),
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(maxPending === undefined ? {} : { maxPending }),
    ...(createsPerSecond === undefined ? {} : { createsPerSecond }),
    paused: pausedSinceMs !== undefined,
    ...(pausedSinceMs === undefined ? {} : { pausedSince: formatInstant(pausedSinceMs) }),
    ...(version === 0 ? {} : { updatedAt: formatInstant(updatedAt) }),
  }
}

const encodeRetryPolicy = Schema.encodeSync(RetryPolicy)

/** Opaque to callers, so that it may become something else. */
const cursorOf = (name: string): string => Buffer.from(`1:${name}`).toString("base64url")

const nameOf = (cursor: string): string | undefined => {
  const text = Buffer.from(cursor, "base64url").toString()
  return /^1:[A-Za-z0-9_-]{1,100}$/.test(text) ? text.slice(2) : undefined
}
