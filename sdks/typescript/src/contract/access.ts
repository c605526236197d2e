/**
 * Requests and answers about keys, sessions, the audit trail and undeliverable messages. The names are those of the
 * OpenAPI document, and a test compares them.
 */
import type { PageRequest } from "./operators.ts"
import type { Duration, InstantInput } from "./requests.ts"

// --- Keys ---

/** What a key may do. `*` means everything. */
export type KeyAction =
  | "timers.read"
  | "timers.write"
  | "timers.cancel"
  | "payload.read"
  | "dead.replay"
  | "dead.discard"
  | "namespaces.read"
  | "namespaces.write"
  | "service.read"
  | "service.write"
  | "clock.advance"
  | "bus.read"
  | "bus.write"
  | "metrics.read"
  | "audit.read"
  | "keys.manage"
  | "calls.read"
  | "calls.write"
  | "*"

/** A key to make. Give `role` or `actions`. */
export interface CreateKey {
  readonly label: string
  readonly role?: "app" | "viewer" | "operator" | "admin" | undefined
  readonly actions?: ReadonlyArray<KeyAction> | undefined
  /** Names, prefixes such as `team-*`, or `["*"]`. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  readonly expiresAt?: InstantInput | undefined
  readonly expiresIn?: Duration | undefined
}

/** One key, by its public id. */
export interface GetKey {
  readonly id: string
}

/** The key that gets a new secret. */
export interface RotateKey extends GetKey {
  /** How long the old secret stays valid. */
  readonly grace?: Duration | undefined
}

/** The key that ends. */
export interface RevokeKey extends GetKey {}

/** A key that others have seen. Who knows it may revoke it. */
export interface RevokeLeakedKey {
  readonly apiKey: string
}

/** Keys of a restored store to confirm: one, or all. */
export interface ConfirmKeys {
  readonly id?: string | undefined
  readonly all?: true | undefined
}

/** Which keys to list. */
export interface ListKeys extends PageRequest {}

/** A key without its secret. */
export interface Key {
  readonly id: string
  readonly label: string
  readonly state: "active" | "expired" | "revoked" | "unconfirmed" | "unreadable"
  readonly actions: ReadonlyArray<KeyAction>
  readonly namespaces: ReadonlyArray<string>
  readonly createdAt?: string
  readonly madeBy?: string
  readonly expiresAt?: string
  readonly revokedAt?: string
  readonly lastUsedAt?: string
  readonly oldSecretUntil?: string
}

/** One key. */
export interface KeyAnswer {
  readonly key: Key
}

/** A new key. The service shows `apiKey` only once. */
export interface NewKeyAnswer extends KeyAnswer {
  readonly apiKey: string
}

/** What became of a leaked key. */
export interface RevokeLeakedKeyAnswer {
  readonly result: "revoked" | "alreadyRevoked"
}

/** The ids of the keys that are confirmed now. */
export interface ConfirmKeysAnswer {
  readonly confirmed: ReadonlyArray<string>
}

/** One page of keys. */
export interface ListKeysAnswer {
  readonly keys: ReadonlyArray<Key>
  readonly nextCursor?: string
}

/** Who calls, and what the caller may do. */
export interface SelfAnswer {
  readonly name: string
  readonly keyId?: string
  readonly keysRequired: boolean
  readonly actions: ReadonlyArray<KeyAction>
  readonly namespaces: ReadonlyArray<string>
  readonly expiresAt?: string
}

// --- Sessions ---

/** The key to exchange for a cookie. */
export interface CreateSession {
  readonly apiKey: string
}

/** The session that began. */
export interface SessionAnswer {
  readonly name: string
  readonly endsAt: string
}

/** The session that ended. */
export interface EndSessionAnswer {
  readonly result: "ended"
}

// --- Audit ---

/** Which audit records to list. */
export interface ListAudit extends PageRequest {
  readonly since?: InstantInput | undefined
  readonly until?: InstantInput | undefined
  readonly action?: string | undefined
  readonly key?: string | undefined
}

/** What an operator did. */
export interface AuditRecord {
  readonly id: string
  readonly at: string
  readonly action: string
  readonly outcome: "done" | "unknown"
  readonly caller: string
  readonly keyId?: string
  readonly address?: string
  readonly requestId?: string
  readonly about?: Readonly<Record<string, unknown>>
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
  readonly count?: number
}

/** One page of audit records, latest first. */
export interface ListAuditAnswer {
  readonly records: ReadonlyArray<AuditRecord>
  readonly unreadable?: number
  readonly nextCursor?: string
}

// --- Messages of the broker that could not be handled ---

/** Which messages to list. */
export interface ListMessages extends PageRequest {
  readonly namespace?: string | undefined
}

/** One message. */
export interface GetMessage {
  readonly namespace?: string | undefined
  readonly id: string
}

/** The message to handle again. */
export interface ReplayMessage extends GetMessage {}

/** The message to remove. */
export interface DiscardMessage extends GetMessage {}

/** When and why a message failed. */
export interface MessageFailure {
  readonly at: string
  readonly error: string
}

/** The fields of every message. */
export interface MessageHead {
  readonly id: string
  readonly namespace: string
  readonly storedAt: string
  readonly reason: "malformed" | "refused" | "deliveriesExhausted"
  readonly group?: string
  readonly deliveries: number
  readonly firstFailure: MessageFailure
  readonly lastFailure: MessageFailure
  readonly type?: string
  readonly aggregateId?: string
  readonly messageId?: string
  readonly correlationId?: string
  readonly messageBytes: number
  readonly isCut?: boolean
}

/** A message in a list. */
export interface ListedMessage extends MessageHead {
  readonly preview: string
}

/** A whole message. */
export interface StoredMessage extends MessageHead {
  readonly envelope?: unknown
  readonly raw?: string
}

/** One message. */
export interface MessageAnswer {
  readonly message: StoredMessage
}

/** One page of messages. */
export interface ListMessagesAnswer {
  readonly messages: ReadonlyArray<ListedMessage>
  readonly nextCursor?: string
}

/** `duplicate`: the broker has had this replay already. */
export interface ReplayMessageAnswer {
  readonly result: "replayed" | "duplicate"
}

/** The message that was removed. */
export interface DiscardMessageAnswer {
  readonly result: "discarded"
}
