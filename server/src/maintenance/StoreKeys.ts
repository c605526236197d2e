// The calls about keys on a store itself, for the first key of a store and for an operator who has lost all keys. Whoever
// can open the store can do everything, so the commands are trusted. Requests are checked like those over HTTP, and
// changes leave audit records.
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { invalidRequest } from "@punctual/api/invalidRequest"
import { defaultLimits } from "@punctual/api/Limits"
import type { Problem } from "@punctual/api/Problem"
import { Documents, type DocumentsError } from "@punctual/documents/Documents"
import { AuditTrail } from "@punctual/door/AuditTrail"
import { anonymous, type Caller } from "@punctual/door/Caller"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { keysKind } from "@punctual/door/KeyRecord"
import { Clock, Context, Effect, Layer, Result, type Scope } from "effect"
import { auditedCall } from "../calls/auditedCall.ts"
import type { Call } from "../calls/Call.ts"
import { type KeyCalls, makeKeyCalls } from "../calls/KeyCalls.ts"

/** The calls that make sense without a service. */
export type StoreKeyCall = "create" | "list" | "get" | "rotate" | "revoke" | "confirm"

export interface StoreKeys {
  /** Takes the JSON of a request and returns the JSON of the answer. */
  ask(name: StoreKeyCall, request: unknown): Effect.Effect<unknown, Problem>
}

const commandLine: Caller = { ...anonymous, name: "command line" }

export const openStoreKeys = (
  documents: Documents["Service"],
): Effect.Effect<StoreKeys, DocumentsError, Scope.Scope> =>
  Effect.gen(function* () {
    // The directory would try again for ever if the store cannot be read.
    yield* documents.changesAfter(keysKind, 0, 1)
    const layer = Layer.provide(KeyDirectory.layer(), Layer.succeed(Documents, documents))
    const keys = Context.get(yield* Effect.orDie(Layer.build(layer)), KeyDirectory)
    const calls = makeKeyCalls({ keys, gate: { isClosed: true } })
    const trail = AuditTrail.over(documents)
    return { ask: (name, request) => ask({ calls, trail }, name, request) }
  })

interface AskedParts {
  readonly calls: KeyCalls
  readonly trail: AuditTrail["Service"]
}

const ask = (
  { calls, trail }: AskedParts,
  name: StoreKeyCall,
  request: unknown,
): Effect.Effect<unknown, Problem> =>
  Effect.gen(function* () {
    const endpoint = contractEndpoints(defaultLimits).find((one) => one.group === "keys" && one.name === name)
    if (endpoint === undefined) throw new Error(`the contract has no call keys.${name}`)
    const decoded = endpoint.decode(request)
    if (Result.isFailure(decoded)) return yield* invalidRequest(decoded.failure)
    // Each call gets the body that its own schema decoded.
    const call = calls[name] as Call<unknown, unknown>
    const receivedAt = yield* Clock.currentTimeMillis
    const audited =
      endpoint.isAudited === true ? auditedCall(`keys.${name}`, call, trail, () => receivedAt) : call
    const answer = yield* audited({ body: decoded.success, caller: commandLine, receivedAt })
    return endpoint.encode(answer)
  })
