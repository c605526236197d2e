/** A key as the store keeps it: never its secret, only a digest of its text. */
import { KeyAction } from "@punctual/api/KeyRights"
import type { DocumentChange } from "@punctual/documents/Documents"
import { Schema, SchemaParser } from "effect"

/** The kind of the documents that hold keys. The id of a document is the id of its key. */
export const keysKind = "keys"

const { optionalKey } = Schema
const InstantMs = Schema.Int

/** During a rotation a key has two secrets, and the old one has an end. */
const KeySecret = Schema.Struct({ digest: Schema.String, endsAtMs: optionalKey(InstantMs) })

const KeyRecordShape = Schema.Struct({
  label: Schema.String,
  actions: Schema.Array(KeyAction),
  namespaces: Schema.Array(Schema.String),
  secrets: Schema.Array(KeySecret),
  createdAtMs: InstantMs,
  /** The label and the id of the key that made this one, or the way it was made. */
  madeBy: Schema.String,
  expiresAtMs: optionalKey(InstantMs),
  revokedAtMs: optionalKey(InstantMs),
  /** How often the store had been restored from a backup when the key was made or confirmed. */
  restores: Schema.Int,
})

export type KeyRecord = typeof KeyRecordShape.Type

/** A stored key with its id and the version of its document. */
export interface StoredKey {
  readonly id: string
  readonly version: number
  /** `undefined` if the stored record cannot be read: then the key does not work. */
  readonly record: KeyRecord | undefined
}

const isRecord = SchemaParser.is(KeyRecordShape)

/** `undefined` if the key was removed. */
export const keyOfDocument = (document: DocumentChange): StoredKey | undefined => {
  const { id, version } = document
  if (document.state === "removed") return undefined
  const isReadable = document.state === "stored" && isRecord(document.value)
  return { id, version, record: isReadable ? document.value : undefined }
}
