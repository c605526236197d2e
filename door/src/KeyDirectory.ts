/**
 * The keys of a product: who has one, and making, changing and ending them. Every node knows all keys. It reads them
 * before it answers calls, and then reads the changes twice a second. So a revoked key stops working on every node within
 * a second, and at once on the node that revoked it. While the store is unreachable, the known keys stay in force.
 */
import { Documents, type DocumentsError } from "@punctual/documents/Documents"
import { Clock, Context, Effect, Layer, Schedule, Schema, type Scope } from "effect"
import { AdminKeyFile, type AdminKeyUnusable } from "./AdminKeyFile.ts"
import { DoorRecords } from "./DoorRecords.ts"
import { KeyExpiry } from "./KeyExpiry.ts"
import { type KeyRecord, keyOfDocument, keysKind, type StoredKey } from "./KeyRecord.ts"
import { digestOfKey, type MadeKey, makeKeyText } from "./KeyText.ts"
import { KeyUses } from "./KeyUses.ts"
import { type KeyVerdict, KnownKeys, type TextVerdict, whyNotValid } from "./KnownKeys.ts"
import { isFull, type Rights } from "./Rights.ts"
import { Sessions } from "./Sessions.ts"

/** Other callers kept changing the same key, so nothing was changed. */
export class KeyContended extends Schema.TaggedError<KeyContended>()("KeyContended", {}) {}

/** There is no key with this id. */
export class NoSuchKey extends Schema.TaggedError<NoSuchKey>()("NoSuchKey", { id: Schema.String }) {}

/** The key cannot be changed like this. The message says why. */
export class KeyRefused extends Schema.TaggedError<KeyRefused>()("KeyRefused", {
  message: Schema.String,
}) {}

export interface NewKey extends Rights {
  readonly label: string
  readonly madeBy: string
  readonly expiresAtMs?: number
}

/** A key with its text, which is shown only now. */
export interface ShownKey extends MadeKey {
  readonly key: StoredKey
}

export interface KeyDirectoryOptions {
  /** The file with the administrator's key, if there is one. */
  readonly adminKeyFile?: string
  /** What signs sessions, the same on all nodes. If absent, a new one is made, and sessions end with the process. */
  readonly sessionSecret?: Uint8Array
}

/** How many keys a store may have, with those that ended. At the limit, a new key takes the place of one that ended. */
export const keysMax = 10_000

export class KeyDirectory extends Context.Service<
  KeyDirectory,
  {
    /** Judges the text of a key. */
    judge(text: string, nowMs: number): TextVerdict
    /** Judges a key by its id, for work that goes on for a caller who has proved before that they know the key. */
    judgeId(id: string, nowMs: number): KeyVerdict
    readonly sessions: Sessions
    /** Whether there has ever been a key: then keys are required for good. */
    hasHadKey(): boolean
    /** Whether a key with all rights works now. */
    hasAdministrator(nowMs: number): boolean
    /** All stored keys, those that ended included, without order. */
    all(): ReadonlyArray<StoredKey>
    find(id: string): StoredKey | undefined
    /** How often the store was restored from a backup. Keys from before the last restore must be confirmed. */
    restores(): number
    /** Remembers that a key was used. */
    used(id: string, nowMs: number): void
    /** When each of these keys was last used, as far as that is stored, to 5 minutes. */
    lastUsed(ids: ReadonlyArray<string>): Effect.Effect<ReadonlyMap<string, number>, DocumentsError>
    /** The first key of a store must be an administrator's. */
    create(asked: NewKey, nowMs: number): Effect.Effect<ShownKey, KeyRefused | DocumentsError>
    /** Makes another secret for a key. The present one works for `graceMs` more. */
    rotate(id: string, graceMs: number, nowMs: number): Effect.Effect<ShownKey, KeyChangeError>
    /** Ends a key for good. A key that is already revoked stays as it is. */
    revoke(id: string, nowMs: number): Effect.Effect<StoredKey, KeyChangeError>
    /** Makes a key from before a restore work again. */
    confirm(id: string, nowMs: number): Effect.Effect<StoredKey, KeyChangeError>
    /** Reads all changes since the last read. */
    readonly refresh: Effect.Effect<void, DocumentsError>
  }
>()("punctual/door/KeyDirectory") {
  static layer(options: KeyDirectoryOptions = {}): Layer.Layer<KeyDirectory, AdminKeyUnusable, Documents> {
    return Layer.effect(KeyDirectory, make(options))
  }
}

export type KeyChangeError = NoSuchKey | KeyContended | KeyRefused | DocumentsError

const refreshEveryMs = 500
const retryFirstReadMs = 250
const keysAtOnce = 500
const triesMax = 8
/** A store that does not answer must not hold up the end of the process. */
const lastWritesWithinMs = 1_000

const make = Effect.fnUntraced(function* (
  options: KeyDirectoryOptions,
): Effect.fn.Return<KeyDirectory["Service"], AdminKeyUnusable, Documents | Scope.Scope> {
  const documents = yield* Documents
  const known = new KnownKeys()
  const records = new DoorRecords(documents)
  const uses = new KeyUses(documents)
  const watchAdminKey = yield* adminKeyWatch(known, options.adminKeyFile)
  const refresh = yield* makeRefresh(documents, known, records)

  const hasAdminKeyFile = options.adminKeyFile !== undefined
  const close = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => records.close(nowMs))
  yield* Effect.andThen(refresh, hasAdminKeyFile ? close : Effect.void).pipe(
    Effect.tapError(({ message }) => Effect.logWarning(`the keys cannot be read, trying again: ${message}`)),
    Effect.retry(Schedule.spaced(retryFirstReadMs)),
    Effect.orDie,
  )
  const expiry = new KeyExpiry(known)
  const lookAtTime = Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    Effect.andThen(expiry.tell(nowMs), uses.flush(nowMs)),
  )
  // Runs after the loop below has ended.
  yield* Effect.addFinalizer(() =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => uses.flushRest(nowMs)).pipe(
      Effect.timeoutOption(lastWritesWithinMs),
      Effect.ignore,
    ),
  )
  yield* Effect.sleep(refreshEveryMs).pipe(
    Effect.andThen(Effect.ignore(refresh)),
    Effect.andThen(watchAdminKey),
    Effect.andThen(Effect.ignore(lookAtTime)),
    // Any defect is caught, because a loop that ends would never see another revoked key.
    Effect.catchDefect((defect) => Effect.logError(`keys could not be applied: ${defect}`)),
    Effect.forever,
    Effect.forkScoped,
  )

  /** Puts the record in force here before the caller is answered. */
  const stored = (document: Parameters<typeof keyOfDocument>[0]): StoredKey => {
    const key = keyOfDocument(document)
    if (key === undefined) throw new Error("a key was stored and is not there")
    known.take(key)
    return key
  }

  const change = Effect.fnUntraced(function* (
    id: string,
    nowMs: number,
    edit: (record: KeyRecord) => KeyRecord | KeyRefused,
  ): Effect.fn.Return<StoredKey, KeyChangeError> {
    for (let tries = 0; tries < triesMax; tries++) {
      const found = yield* documents.get(keysKind, id)
      if (found === undefined) return yield* new NoSuchKey({ id })
      const { record, version } = stored(found)
      if (record === undefined) return yield* unreadable(id)
      const edited = edit(record)
      if (edited instanceof KeyRefused) return yield* edited
      if (edited === record) return { id, version, record }
      const put = { kind: keysKind, id, expectedVersion: version, value: edited, updatedAt: nowMs }
      const written = yield* Effect.catchTag(documents.put(put), "DocumentRefused", refusedByStore)
      if (written !== undefined) return stored(written)
    }
    return yield* new KeyContended()
  })

  return {
    judge: (text, nowMs) => known.judge(text, nowMs),
    judgeId: (id, nowMs) => known.judgeId(id, nowMs),
    sessions: new Sessions(known, options.sessionSecret),
    hasHadKey: () => known.size > 0 || hasAdminKeyFile || records.isClosed,
    hasAdministrator: (nowMs) =>
      known.hasAdminKey ||
      known
        .all()
        .some(
          ({ record }) =>
            record !== undefined &&
            isFull(record) &&
            whyNotValid(record, known.restores, nowMs) === undefined,
        ),
    all: () => known.all(),
    find: (id) => known.stored(id),
    restores: () => known.restores,
    used: (id, nowMs) => uses.used(id, nowMs),
    lastUsed: (ids) => uses.lastUsed(ids),
    refresh,
    create: Effect.fnUntraced(function* (asked, nowMs) {
      yield* refresh
      const refused = whyNotFirst(known, asked, hasAdminKeyFile)
      if (refused !== undefined) return yield* refused
      yield* makeRoom(documents, known, nowMs)
      const made = makeKeyText()
      const { label, madeBy, actions, namespaces, expiresAtMs } = asked
      const value: KeyRecord = {
        label,
        actions,
        namespaces,
        secrets: [{ digest: digestOfKey(made.text).toString("hex") }],
        createdAtMs: nowMs,
        madeBy,
        ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
        restores: known.restores,
      }
      const put = { kind: keysKind, id: made.id, expectedVersion: 0, value, updatedAt: nowMs }
      const written = yield* Effect.catchTag(documents.put(put), "DocumentRefused", refusedByStore)
      if (written === undefined) return yield* refused409
      return { ...made, key: stored(written) }
    }),
    rotate: Effect.fnUntraced(function* (id, graceMs, nowMs) {
      const made = makeKeyText(id)
      const key = yield* change(id, nowMs, (record) =>
        record.revokedAtMs === undefined
          ? { ...record, secrets: rotated(record, digestOfKey(made.text).toString("hex"), graceMs, nowMs) }
          : new KeyRefused({ message: "The key is revoked. Make a new one." }),
      )
      return { ...made, key }
    }),
    revoke: (id, nowMs) =>
      change(id, nowMs, (record) =>
        record.revokedAtMs === undefined ? { ...record, revokedAtMs: nowMs } : record,
      ),
    confirm: (id, nowMs) =>
      change(id, nowMs, (record) =>
        record.restores === known.restores ? record : { ...record, restores: known.restores },
      ),
  }
})

/** The new secret, and the present one for a while. A third one, from a rotation just before, ends now. */
const rotated = (record: KeyRecord, digest: string, graceMs: number, nowMs: number): KeyRecord["secrets"] => {
  const [present] = record.secrets
  return present === undefined || graceMs === 0
    ? [{ digest }]
    : [{ digest }, { digest: present.digest, endsAtMs: nowMs + graceMs }]
}

const makeRefresh = (
  documents: Documents["Service"],
  known: KnownKeys,
  records: DoorRecords,
): Effect.Effect<Effect.Effect<void, DocumentsError>> =>
  Effect.sync(() => {
    let version = 0
    return Effect.gen(function* () {
      for (;;) {
        const changes = yield* documents.changesAfter(keysKind, version, keysAtOnce)
        for (const change of changes) {
          const key = keyOfDocument(change)
          if (key === undefined) known.remove(change.id)
          else known.take(key)
          version = Math.max(version, change.version)
        }
        if (changes.length < keysAtOnce) break
      }
      yield* records.refresh
      known.restores = records.restores
    })
  })

/** Reads the administrator's key, and answers how to see later changes of it. */
const adminKeyWatch = (
  known: KnownKeys,
  path: string | undefined,
): Effect.Effect<Effect.Effect<void>, AdminKeyUnusable> =>
  Effect.gen(function* () {
    if (path === undefined) return Effect.void
    const file = new AdminKeyFile(path)
    const { key, isNew } = yield* file.readOrMake
    known.setAdminKey(key)
    if (isNew) yield* Effect.logInfo(`made the administrator's key, in ${path}`)
    return Effect.gen(function* () {
      if (!(yield* file.hasChanged)) return
      const read = yield* Effect.result(file.read)
      const isRead = read._tag === "Success"
      // A key whose file was removed must not go on working.
      known.setAdminKey(isRead ? read.success : undefined)
      yield* isRead
        ? Effect.logInfo(`the administrator's key was read again from ${path}`)
        : Effect.logError(`the administrator's key no longer works: ${read.failure.message}`)
    })
  })

const whyNotFirst = (known: KnownKeys, asked: NewKey, hasAdminFile: boolean): KeyRefused | undefined =>
  known.size === 0 && !hasAdminFile && !isFull(asked)
    ? new KeyRefused({
        message:
          "The first key must be an administrator's key, because from then on every call needs a key: run punctual keys create --admin first.",
      })
    : undefined

/** If there are as many keys as allowed, removes the one that ended first. Keys that work are never removed. */
const makeRoom = (
  documents: Documents["Service"],
  known: KnownKeys,
  nowMs: number,
): Effect.Effect<void, KeyRefused | DocumentsError> =>
  Effect.gen(function* () {
    if (known.size < keysMax) return
    const ended = known.all().flatMap(({ id, version, record }) => {
      const why = record === undefined ? "unreadable" : whyNotValid(record, known.restores, nowMs)
      const endedAtMs = record?.revokedAtMs ?? record?.expiresAtMs ?? 0
      return why === undefined || why === "unconfirmed" ? [] : [{ id, version, endedAtMs }]
    })
    const [first] = ended.sort((one, other) => one.endedAtMs - other.endedAtMs)
    if (first === undefined)
      return yield* new KeyRefused({
        message: `There are ${keysMax} keys that have not ended, which is the limit. Revoke keys that nobody uses.`,
      })
    const { id, version: expectedVersion } = first
    yield* documents.remove({ kind: keysKind, id, expectedVersion, updatedAt: nowMs })
    known.remove(id)
  })

const unreadable = (id: string): KeyRefused =>
  new KeyRefused({ message: `The stored key ${id} cannot be read. Make a new one.` })

const refusedByStore = ({ message }: { readonly message: string }) => Effect.fail(new KeyRefused({ message }))

const refused409 = new KeyRefused({ message: "The id of the new key is taken. Try again." })
