/**
 * All keys of a store in memory, so that a check needs no I/O: one look-up and one comparison. Whether the secret of an
 * unknown id is wrong takes as long as for a known one.
 */
import { timingSafeEqual } from "node:crypto"
import type { KeyRecord, StoredKey } from "./KeyRecord.ts"
import { digestOfKey, idOfKey } from "./KeyText.ts"
import { fullRights, GrantedRights } from "./Rights.ts"

/** A key whose text, or session, is right. */
export interface KnownKey {
  /** The id of the key, or `adminKeyId`. */
  readonly id: string
  readonly label: string
  readonly granted: GrantedRights
  readonly expiresAtMs?: number
}

/**
 * `wrong` gives no reason, because a reason would tell a stranger which ids exist. The other reasons are only given to
 * someone who knows the secret.
 */
export type WhyNotValid = "wrong" | "expired" | "revoked" | "unconfirmed"

export type KeyVerdict = { readonly key: KnownKey } | { readonly why: WhyNotValid }

/** The verdict on a text. `mark` is a short mark of the text, for the sessions that it begins. */
export type TextVerdict = { readonly key: KnownKey; readonly mark: string } | { readonly why: WhyNotValid }

/** The key in the administrator's file. It is not stored and has no id of its own. */
export const adminKeyId = "admin"

interface HeldKey {
  readonly stored: StoredKey
  readonly known: KnownKey | undefined
  readonly secrets: ReadonlyArray<HeldSecret>
}

interface HeldSecret {
  readonly digest: Buffer
  readonly endsAtMs: number
}

export class KnownKeys {
  readonly #held = new Map<string, HeldKey>()
  #restores = 0
  #admin: { readonly digest: Buffer; readonly known: KnownKey } | undefined

  get size(): number {
    return this.#held.size
  }

  get hasAdminKey(): boolean {
    return this.#admin !== undefined
  }

  /** How often the store was restored from a backup. Keys from before the last restore must be confirmed. */
  get restores(): number {
    return this.#restores
  }

  set restores(count: number) {
    this.#restores = count
  }

  /** `undefined` if there is no key in the administrator's file. */
  setAdminKey(text: string | undefined): void {
    this.#admin =
      text === undefined
        ? undefined
        : {
            digest: digestOfKey(text),
            known: {
              id: adminKeyId,
              label: "administrator's key file",
              granted: new GrantedRights(fullRights),
            },
          }
  }

  /** The marks of all texts that work for this key now. */
  marksOf(id: string, nowMs: number): ReadonlyArray<string> {
    if (id === adminKeyId) return this.#admin === undefined ? [] : [markOf(this.#admin.digest)]
    const secrets = this.#held.get(id)?.secrets ?? []
    return secrets.filter(({ endsAtMs }) => nowMs < endsAtMs).map(({ digest }) => markOf(digest))
  }

  take(stored: StoredKey): void {
    const held = this.#held.get(stored.id)
    // Of two concurrent reads, the older result may arrive later.
    if (held !== undefined && held.stored.version >= stored.version) return
    this.#held.set(stored.id, { stored, known: knownOf(stored), secrets: secretsOf(stored) })
  }

  remove(id: string): void {
    this.#held.delete(id)
  }

  stored(id: string): StoredKey | undefined {
    return this.#held.get(id)?.stored
  }

  all(): ReadonlyArray<StoredKey> {
    return [...this.#held.values()].map(({ stored }) => stored)
  }

  /** Judges the text of a key that a caller sent. */
  judge(text: string, nowMs: number): TextVerdict {
    const id = idOfKey(text)
    if (id === undefined && this.#admin === undefined) return wrong
    const digest = digestOfKey(text)
    if (this.#admin !== undefined && timingSafeEqual(digest, this.#admin.digest)) {
      return { key: this.#admin.known, mark: markOf(digest) }
    }
    const held = id === undefined ? undefined : this.#held.get(id)
    let isRight = false
    for (const { digest: expected, endsAtMs } of held?.secrets ?? noSecrets) {
      if (timingSafeEqual(digest, expected) && nowMs < endsAtMs) isRight = true
    }
    if (!isRight || held === undefined) return wrong
    const verdict = this.#verdictOf(held, nowMs)
    return "why" in verdict ? verdict : { ...verdict, mark: markOf(digest) }
  }

  /** Judges a key by its id, for a caller who has proved before that they know the key. */
  judgeId(id: string, nowMs: number): KeyVerdict {
    if (id === adminKeyId) return this.#admin === undefined ? wrong : { key: this.#admin.known }
    const held = this.#held.get(id)
    return held === undefined ? wrong : this.#verdictOf(held, nowMs)
  }

  #verdictOf({ stored: { record }, known }: HeldKey, nowMs: number): KeyVerdict {
    if (known === undefined || record === undefined) return wrong
    const why = whyNotValid(record, this.#restores, nowMs)
    return why === undefined ? { key: known } : { why }
  }
}

/** Why a key does not work although its secret is right. */
export const whyNotValid = (
  { revokedAtMs, expiresAtMs, restores }: KeyRecord,
  storeRestores: number,
  nowMs: number,
): Exclude<WhyNotValid, "wrong"> | undefined => {
  if (revokedAtMs !== undefined) return "revoked"
  if (expiresAtMs !== undefined && nowMs >= expiresAtMs) return "expired"
  return restores < storeRestores ? "unconfirmed" : undefined
}

const wrong: { readonly why: "wrong" } = { why: "wrong" }

const markOf = (digest: Buffer): string => digest.toString("hex", 0, 8)

/** Compared if the id is unknown. No text has this digest. */
const noSecrets: ReadonlyArray<HeldSecret> = [
  { digest: Buffer.alloc(32), endsAtMs: Number.NEGATIVE_INFINITY },
]

/** A digest of another length is damaged and equals nothing. */
const secretsOf = ({ record }: StoredKey): ReadonlyArray<HeldSecret> =>
  (record?.secrets ?? []).flatMap(({ digest, endsAtMs = Number.POSITIVE_INFINITY }) => {
    const bytes = Buffer.from(digest, "hex")
    return bytes.length === 32 ? [{ digest: bytes, endsAtMs }] : []
  })

const knownOf = ({ id, record }: StoredKey): KnownKey | undefined =>
  record === undefined
    ? undefined
    : {
        id,
        label: record.label,
        granted: new GrantedRights(record),
        ...(record.expiresAtMs === undefined ? {} : { expiresAtMs: record.expiresAtMs }),
      }
