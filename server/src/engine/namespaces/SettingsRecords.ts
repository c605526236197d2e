// The settings of namespaces, and of the service as a whole, as documents. Only this module knows how they are stored.
// All are of one kind, so that a node can follow all changes with one query.
//
// Unreadable settings do not stop the service. Nobody knows whether their namespace was paused, or which secrets signed
// its webhooks. So the namespace counts as paused since the settings were stored, and setting anything for it replaces
// them. All other namespaces continue. So that they do, the service counts as not paused if its own settings cannot be
// read.
import {
  type DocumentChange,
  type DocumentRefused,
  Documents,
  type DocumentsError,
} from "@punctual/documents/Documents"
import { Effect, SchemaParser } from "effect"
import type { NamespaceSettings, ServiceSettings } from "../../domain/NamespaceSettings.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { SettingsShape } from "../../wire/settingsShape.ts"

/** The kind of all documents with settings. The id is the name of the namespace. */
export const settingsKind = "settings"

/** The settings of the whole service have this name, which no namespace can have. */
export const serviceRecord = "_service"

export interface SettingsRecord {
  readonly namespace: string
  readonly settings: NamespaceSettings & ServiceSettings
  /** 0 if nothing was ever stored under the name. */
  readonly version: number
  readonly updatedAt: number
  /** The stored record cannot be read, and `settings` contains a replacement. */
  readonly isUnreadable?: true
}

export class SettingsRecords {
  readonly #documents: Documents["Service"]

  constructor(documents: Documents["Service"]) {
    this.#documents = documents
  }

  static readonly make: Effect.Effect<SettingsRecords, never, Documents> = Effect.map(
    Documents,
    (documents) => new SettingsRecords(documents),
  )

  /** Returns version 0 and no settings if there is no record. */
  get(namespace: string): Effect.Effect<SettingsRecord, StoreError> {
    return Effect.map(asStoreError(this.#documents.get(settingsKind, namespace)), (found) =>
      found === undefined ? { namespace, settings: {}, version: 0, updatedAt: 0 } : settingsOfDocument(found),
    )
  }

  /**
   * Replaces the settings of `record.version`. Returns `undefined` if that is no longer the current version. Settings
   * without any field are removed, so that a namespace at its defaults takes no room.
   */
  put(record: Omit<SettingsRecord, "isUnreadable">): Effect.Effect<SettingsRecord | undefined, StoreError> {
    const { namespace: id, settings: value, version: expectedVersion, updatedAt } = record
    const head = { kind: settingsKind, id, expectedVersion, updatedAt }
    const isEmpty = expectedVersion > 0 && Object.keys(value).length === 0
    const put = isEmpty ? this.#documents.remove(head) : this.#documents.put({ ...head, value })
    return Effect.map(asStoreError<DocumentChange | undefined>(put), (stored) =>
      stored === undefined ? undefined : settingsOfDocument(stored),
    )
  }

  /** The first changes after a version, in order. Only the last change of each record is included. */
  changesAfter(version: number, limit: number): Effect.Effect<ReadonlyArray<SettingsRecord>, StoreError> {
    return Effect.map(asStoreError(this.#documents.changesAfter(settingsKind, version, limit)), (changes) =>
      changes.map(settingsOfDocument),
    )
  }

  /** The names of namespaces that have settings, sorted bytewise, without those that begin with `_`. */
  names(exclusiveAfter: string, limit: number): Effect.Effect<ReadonlyArray<string>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const names: Array<string> = []
      let exclusiveAfterId = exclusiveAfter
      for (;;) {
        const page = yield* asStoreError(this.#documents.list(settingsKind, { exclusiveAfterId, limit }))
        names.push(...page.map(({ id }) => id).filter((name) => !name.startsWith("_")))
        if (page.length < limit || names.length >= limit) return names.slice(0, limit)
        exclusiveAfterId = page.at(-1)?.id ?? exclusiveAfterId
      }
    })
  }
}

export const settingsOfDocument = (document: DocumentChange): SettingsRecord => {
  const { id: namespace, version, updatedAt } = document
  const record = { namespace, version, updatedAt }
  if (document.state === "removed") return { ...record, settings: {} }
  if (document.state === "stored" && isSettings(document.value))
    return { ...record, settings: document.value }
  const settings = namespace === serviceRecord ? {} : { pausedSinceMs: updatedAt }
  return { ...record, settings, isUnreadable: true }
}

/** Unknown fields, which a newer program may have added, are kept. */
const isSettings = SchemaParser.is(SettingsShape)

const asStoreError = <A>(
  call: Effect.Effect<A, DocumentsError | DocumentRefused>,
): Effect.Effect<A, StoreError> =>
  Effect.mapError(
    call,
    (error) =>
      new StoreError({
        message: error.message,
        isFatal: error._tag === "DocumentsError" && error.isFatal,
      }),
  )
