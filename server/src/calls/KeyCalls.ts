// The calls about keys: who may call the service. A program with the engine inside has no keys, because it is trusted.

import { formatInstant } from "@punctual/api/Instant"
import { invalidField } from "@punctual/api/invalidRequest"
import type {
  ConfirmKeys,
  ConfirmKeysAnswer,
  CreateKey,
  GetKey,
  GetSelf,
  Key,
  KeyAnswer,
  ListKeys,
  ListKeysAnswer,
  NewKeyAnswer,
  RevokeKey,
  RevokeLeakedKey,
  RevokeLeakedKeyAnswer,
  RotateKey,
  SelfAnswer,
} from "@punctual/api/Keys"
import { defaultGraceMs, keysPage } from "@punctual/api/Keys"
import { Forbidden, KeyChangeRefused, KeyNotFound, Overloaded, type Problem } from "@punctual/api/Problem"
import type { Caller } from "@punctual/door/Caller"
import { type Gate, KeyCaller } from "@punctual/door/Gate"
import type { KeyChangeError, KeyDirectory, ShownKey } from "@punctual/door/KeyDirectory"
import type { StoredKey } from "@punctual/door/KeyRecord"
import { idOfKey } from "@punctual/door/KeyText"
import { whyNotValid } from "@punctual/door/KnownKeys"
import { covers, fullRights, type Rights, roles } from "@punctual/door/Rights"
import { Effect } from "effect"
import { StoreError } from "../ports/TimerStore.ts"
import type { Call } from "./Call.ts"
import { refuseChange, refuseRead } from "./problemOf.ts"

export interface KeyCalls {
  readonly create: Call<CreateKey, NewKeyAnswer>
  readonly rotate: Call<RotateKey, NewKeyAnswer>
  readonly revoke: Call<RevokeKey, KeyAnswer>
  readonly revokeLeaked: Call<RevokeLeakedKey, RevokeLeakedKeyAnswer>
  readonly confirm: Call<ConfirmKeys, ConfirmKeysAnswer>
  readonly get: Call<GetKey, KeyAnswer>
  readonly list: Call<ListKeys, ListKeysAnswer>
  readonly self: Call<GetSelf, SelfAnswer>
}

/** The keys of the service, and whether they are in force. */
export interface KeyParts {
  readonly keys: KeyDirectory["Service"]
  readonly gate: Pick<Gate, "isClosed">
}

/** `parts` is `undefined` in a program with the engine inside. */
export const makeKeyCalls = (parts: KeyParts | undefined): KeyCalls => {
  if (parts === undefined) return withoutKeys
  const { keys, gate } = parts
  return {
    ...changing(keys),
    get: ({ body, receivedAt }) =>
      Effect.map(found(keys, body.id), (key) => ({ key: shown(keys, key, receivedAt) })),
    list: ({ body, receivedAt }) => listing(keys, body, receivedAt),
    self: ({ caller }) => Effect.succeed(selfOf(caller, gate.isClosed)),
  }
}

const changing = (
  keys: KeyDirectory["Service"],
): Pick<KeyCalls, "create" | "rotate" | "revoke" | "revokeLeaked" | "confirm"> => {
  const answered = ({ key, text }: ShownKey, nowMs: number): NewKeyAnswer => ({
    key: shown(keys, key, nowMs),
    apiKey: text,
  })
  return {
    create: ({ body, caller, receivedAt, note }) => {
      const { label, expiresAt, expiresIn } = body
      const expiresAtMs = expiresIn === undefined ? expiresAt : receivedAt + expiresIn
      if (expiresAtMs !== undefined && expiresAtMs <= receivedAt) {
        return Effect.fail(invalidField("/expiresAt", "must be in the future"))
      }
      const asked = rightsOf(body)
      const refused = whyTooMuch(caller, asked, expiresAtMs) ?? whyUseless(body)
      if (refused !== undefined) return Effect.fail(refused)
      note?.({ about: { label } })
      const made = keys.create(
        { ...asked, label, madeBy: makerOf(caller), ...(expiresAtMs === undefined ? {} : { expiresAtMs }) },
        receivedAt,
      )
      return Effect.matchEffect(made, {
        onFailure: refuseKey,
        onSuccess: (made) => {
          note?.({ about: { id: made.key.id, label }, after: detailsOf(shown(keys, made.key, receivedAt)) })
          return Effect.succeed(answered(made, receivedAt))
        },
      })
    },
    rotate: ({ body, caller, receivedAt, note }) =>
      Effect.gen(function* () {
        yield* withinRights(keys, body.id, caller)
        note?.({ about: aboutKey(keys, body.id) })
        const made = yield* Effect.catch(
          keys.rotate(body.id, body.grace ?? defaultGraceMs, receivedAt),
          refuseKey,
        )
        const answer = answered(made, receivedAt)
        // Only the text changes. The rights stay the same.
        note?.({ after: graceOf(answer.key) })
        return answer
      }),
    revoke: ({ body, caller, receivedAt, note }) =>
      Effect.gen(function* () {
        yield* withinRights(keys, body.id, caller)
        note?.({ about: aboutKey(keys, body.id) })
        const key = yield* Effect.catch(keys.revoke(body.id, receivedAt), refuseKey)
        return { key: shown(keys, key, receivedAt) }
      }),
    revokeLeaked: ({ body, receivedAt, note }) =>
      Effect.gen(function* () {
        const verdict = keys.judge(body.apiKey, receivedAt)
        if ("why" in verdict) {
          if (verdict.why === "revoked") return { result: "alreadyRevoked" as const }
          if (verdict.why === "wrong")
            return yield* new KeyNotFound({ detail: "There is no key with this text." })
        }
        const id = idOfKey(body.apiKey)
        if (id === undefined || keys.find(id) === undefined) return yield* notRevocable()
        note?.({ about: aboutKey(keys, id) })
        yield* Effect.catch(keys.revoke(id, receivedAt), refuseKey)
        return { result: "revoked" as const }
      }),
    confirm: ({ body, caller, receivedAt, note }) =>
      Effect.gen(function* () {
        const ids = body.id === undefined ? unconfirmed(keys, receivedAt) : [body.id]
        for (const id of ids) yield* withinRights(keys, id, caller)
        note?.({ about: { ids } })
        const confirmed: Array<string> = []
        for (const id of ids) {
          yield* Effect.catch(keys.confirm(id, receivedAt), refuseKey)
          confirmed.push(id)
        }
        note?.({ count: confirmed.length })
        return { confirmed }
      }),
  }
}

const listing = (
  keys: KeyDirectory["Service"],
  { limit = keysPage, cursor }: ListKeys,
  nowMs: number,
): Effect.Effect<ListKeysAnswer, Problem> => {
  const sorted = [...keys.all()].sort(newestFirst)
  const after = cursor === undefined ? -1 : sorted.findIndex(({ id }) => id === cursor)
  if (cursor !== undefined && after === -1) {
    return Effect.fail(invalidField("/cursor", "must be the nextCursor of an earlier answer"))
  }
  const page = sorted.slice(after + 1, after + 1 + limit)
  const last = after + 1 + limit < sorted.length ? page.at(-1) : undefined
  return keys.lastUsed(page.map(({ id }) => id)).pipe(
    Effect.map((uses) => ({
      keys: page.map((key) => shown(keys, key, nowMs, uses.get(key.id))),
      ...(last === undefined ? {} : { nextCursor: last.id }),
    })),
    Effect.catch(({ message, isFatal }) => refuseRead(new StoreError({ message, isFatal }))),
  )
}

/** For audit records: a key by its public id and its label. */
const aboutKey = (keys: KeyDirectory["Service"], id: string) => ({ id, label: keys.find(id)?.record?.label })

const detailsOf = ({ actions, namespaces, expiresAt }: Key) => ({
  actions,
  namespaces,
  ...(expiresAt === undefined ? {} : { expiresAt: formatInstant(expiresAt) }),
})

const graceOf = ({ oldSecretUntil }: Key) =>
  oldSecretUntil === undefined ? {} : { oldSecretUntil: formatInstant(oldSecretUntil) }

const newestFirst = (one: StoredKey, other: StoredKey): number =>
  (other.record?.createdAtMs ?? 0) - (one.record?.createdAtMs ?? 0) || (one.id < other.id ? -1 : 1)

const rightsOf = ({ role, actions, namespaces }: CreateKey): Rights => ({
  actions: role === undefined ? (actions ?? []) : roles[role],
  namespaces: namespaces ?? fullRights.namespaces,
})

/** A role may contain actions that a key for some namespaces cannot use. Somebody who names the action expects to use it. */
const whyUseless = ({ actions = [], namespaces = fullRights.namespaces }: CreateKey): Problem | undefined => {
  if (namespaces.includes("*")) return undefined
  const at = actions.findIndex((action) => ofWholeService.has(action))
  return at === -1
    ? undefined
    : invalidField(`/actions/${at}`, `concerns the whole service, so namespaces must be ["*"]`)
}

const ofWholeService: ReadonlySet<string> = new Set([
  "service.read",
  "service.write",
  "clock.advance",
  "metrics.read",
  "audit.read",
  "keys.manage",
])

/** Nobody can give a key rights that they do not have themselves, or for a longer time. */
const whyTooMuch = (
  caller: Caller,
  asked: Rights,
  expiresAtMs = Number.POSITIVE_INFINITY,
): Problem | undefined => {
  if (!covers(caller.rights, asked))
    return new Forbidden({ detail: "A key can only manage keys whose rights are within its own rights." })
  const ownEndMs = caller instanceof KeyCaller ? caller.key.expiresAtMs : undefined
  return ownEndMs === undefined || expiresAtMs <= ownEndMs
    ? undefined
    : new Forbidden({
        detail: `This key ends at ${new Date(ownEndMs).toISOString()}, so it can only manage keys that end by then.`,
      })
}

/** Labels are not unique, so the id says who it was. */
const makerOf = ({ name, keyId }: Caller): string => (keyId === undefined ? name : `${name} (${keyId})`)

/** Whoever gets a new text of a key gets its rights, so changing a key is like making it. */
const withinRights = (
  keys: KeyDirectory["Service"],
  id: string,
  caller: Caller,
): Effect.Effect<void, Problem> =>
  Effect.flatMap(found(keys, id), ({ record }) => {
    const refused = record === undefined ? undefined : whyTooMuch(caller, record, record.expiresAtMs)
    return refused === undefined ? Effect.void : Effect.fail(refused)
  })

const found = (keys: KeyDirectory["Service"], id: string): Effect.Effect<StoredKey, Problem> => {
  const key = keys.find(id)
  return key === undefined ? Effect.fail(noSuchKey()) : Effect.succeed(key)
}

const unconfirmed = (keys: KeyDirectory["Service"], nowMs: number): ReadonlyArray<string> =>
  keys
    .all()
    .filter(
      ({ record }) => record !== undefined && whyNotValid(record, keys.restores(), nowMs) === "unconfirmed",
    )
    .map(({ id }) => id)

const shown = (
  keys: KeyDirectory["Service"],
  { id, record }: StoredKey,
  nowMs: number,
  lastUsedAt?: number,
): Key => {
  if (record === undefined) return { id, label: "", state: "unreadable", actions: [], namespaces: [] }
  const { label, actions, namespaces, createdAtMs, madeBy, expiresAtMs, revokedAtMs, secrets } = record
  const oldSecretUntil = secrets.find(({ endsAtMs = 0 }) => endsAtMs > nowMs)?.endsAtMs
  return {
    id,
    label,
    state: whyNotValid(record, keys.restores(), nowMs) ?? "active",
    actions,
    namespaces,
    createdAt: createdAtMs,
    madeBy,
    ...(expiresAtMs === undefined ? {} : { expiresAt: expiresAtMs }),
    ...(revokedAtMs === undefined ? {} : { revokedAt: revokedAtMs }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
    ...(oldSecretUntil === undefined ? {} : { oldSecretUntil }),
  }
}

const selfOf = (caller: Caller, keysRequired: boolean): SelfAnswer => {
  const key = caller instanceof KeyCaller ? caller.key : undefined
  const { actions, namespaces } = caller.rights
  return {
    name: caller.name,
    ...(key === undefined ? {} : { keyId: key.id }),
    keysRequired,
    actions,
    namespaces,
    ...(key?.expiresAtMs === undefined ? {} : { expiresAt: key.expiresAtMs }),
  }
}

const noSuchKey = (): Problem => new KeyNotFound({ detail: "There is no key with this id." })

const notRevocable = (): Problem =>
  new KeyChangeRefused({
    detail:
      "This is the administrator's key, which is in a file. Change the file (TIMER_ADMIN_KEY_FILE) to end the key.",
  })

const refuseKey = (error: KeyChangeError): Effect.Effect<never, Problem> => {
  switch (error._tag) {
    case "NoSuchKey":
      return Effect.fail(noSuchKey())
    case "KeyRefused":
      return Effect.fail(new KeyChangeRefused({ detail: error.message }))
    case "KeyContended":
      return Effect.fail(
        new Overloaded({
          detail: "Other callers are changing the same key. Nothing was changed: retry.",
          retryAfterSeconds: 1,
          written: "no",
        }),
      )
    case "DocumentsError":
      return refuseChange(new StoreError({ message: error.message, isFatal: error.isFatal }))
  }
}

const noKeys: Effect.Effect<never, Problem> = Effect.fail(
  new KeyChangeRefused({ detail: "A program with the engine inside has no keys." }),
)

const withoutKeys: KeyCalls = {
  create: () => noKeys,
  rotate: () => noKeys,
  revoke: () => noKeys,
  revokeLeaked: () => noKeys,
  confirm: () => noKeys,
  get: () => noKeys,
  list: () => Effect.succeed({ keys: [] }),
  self: ({ caller }) => Effect.succeed(selfOf(caller, false)),
}
