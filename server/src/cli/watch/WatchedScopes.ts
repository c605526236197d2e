// Which namespaces `punctual watch` shows, with their counts. It asks for the namespaces of the service. If the key may
// not read those, it watches the names and patterns of the key itself, and says what it cannot show.
import { SelfAnswer } from "@punctual/api/Keys"
import { CountTimersAnswer } from "@punctual/api/ListTimers"
import { everyNamespace } from "@punctual/api/NamespaceChoices"
import { ListNamespacesAnswer, NamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { Effect, type Schema } from "effect"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { type ServiceFailure, tryService } from "../client/ServiceClient.ts"

/** Each namespace costs four calls a turn. */
export const namespacesMost = 8
export const callsAtOnce = 4

type Count = ListNamespacesAnswer["namespaces"][number]["pending"]

/** A namespace, or all namespaces that match a pattern of the key. */
export interface WatchedScope {
  readonly namespace: string
  readonly pending: Count
  readonly dead: Count
  /** Absent if the key may not see it. */
  readonly paused?: boolean
}

export interface FoundScopes {
  readonly scopes: ReadonlyArray<WatchedScope>
  /** There are more namespaces than the command watches. */
  readonly hasMore: boolean
  /** What the key may not see, and the right that it would need. */
  readonly hidden: ReadonlyArray<string>
}

/** If `asked` is empty, it finds the first namespaces of the service, or those of the key. */
export const findScopes = (
  service: ServiceAddress,
  asked: ReadonlyArray<string>,
): Effect.Effect<FoundScopes, ServiceFailure> =>
  Effect.gen(function* () {
    const settled = yield* ifAllowed(asked.length === 0 ? firstOf(service) : chosenOf(service, asked))
    if (settled !== undefined) return { ...settled, hidden: [] }
    const reached =
      asked.length > 0 ? asked : (yield* watchCall(service, "/keys/self", {}, SelfAnswer)).namespaces
    const names = reached.slice(0, namespacesMost)
    const scopes = yield* Effect.forEach(names, (name) => countedOf(service, name), {
      concurrency: callsAtOnce,
    })
    return {
      scopes,
      hasMore: reached.length > names.length,
      hidden: [
        "Without namespaces.read, the key cannot see pauses of namespaces.",
        ...(names.includes(everyNamespace)
          ? [
              "Without namespaces.read, name namespaces with --namespace to see delivered and cancelled timers.",
            ]
          : []),
      ],
    }
  })

/** The fields of a list or a count that select a scope. */
export const scopeFields = (name: string) =>
  name.endsWith(everyNamespace) ? { namespaces: [name] } : { namespace: name }

/** The result of a call, or `undefined` if the key lacks the right for it. */
export const ifAllowed = <A>(
  call: Effect.Effect<A, ServiceFailure>,
): Effect.Effect<A | undefined, ServiceFailure> =>
  Effect.catch(call, (failure) =>
    failure.problem?.code === "forbidden" ? Effect.succeed(undefined) : Effect.fail(failure),
  )

export const watchCall = <A>(
  service: ServiceAddress,
  path: string,
  fields: Readonly<Record<string, unknown>>,
  answer: Schema.ConstraintDecoder<A>,
): Effect.Effect<A, ServiceFailure> =>
  Effect.map(tryService(service, { path, fields, answer }), ({ value }) => value)

const firstOf = (service: ServiceAddress) =>
  Effect.map(
    watchCall(service, "/namespaces/list", { limit: namespacesMost }, ListNamespacesAnswer),
    ({ namespaces, nextCursor }) => ({ scopes: namespaces, hasMore: nextCursor !== undefined }),
  )

const chosenOf = (service: ServiceAddress, asked: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(
      asked,
      (namespace) => watchCall(service, "/namespaces/get", { namespace }, NamespaceAnswer),
      { concurrency: callsAtOnce },
    ),
    (answers) => ({ scopes: answers.map(({ settings }) => settings), hasMore: false }),
  )

const countedOf = (service: ServiceAddress, name: string): Effect.Effect<WatchedScope, ServiceFailure> => {
  const count = (state: "pending" | "dead") =>
    watchCall(service, "/timers/count", { ...scopeFields(name), state }, CountTimersAnswer)
  return Effect.map(Effect.all([count("pending"), count("dead")]), ([pending, dead]) => ({
    namespace: name,
    pending,
    dead,
  }))
}
