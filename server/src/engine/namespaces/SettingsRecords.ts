// The settings of namespaces, and those of the service as a whole, as documents: the one place that knows how they are
// stored. All are of one kind, so that a node follows the changes of all with one question.
//
// Settings that cannot be read do not end anything. Nobody knows whether their namespace was paused, or by which secrets
// its webhooks were signed, so such a namespace counts as paused since the settings were stored; setting anything for
// it replaces them. All other namespaces go on. For the same reason the service counts as not paused when its own
// settings cannot be read.
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

/** The kind of all documents that hold settings; the id is the name of the namespace. */
export const settingsKind = "settings"

/** Under this name, which no tenant can have, the settings of the service as a whole are kept. */
export const serviceRecord = "_service"

export interface SettingsRecord {
  readonly namespace: string
  readonly settings: NamespaceSettings & ServiceSettings
  /** 0 if nothing was ever stored under the name. */
  readonly version: number
  readonly updatedAt: number
  /** What is stored cannot be read, and `settings` stand in for it. */
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

  /** Version 0 and no settings if there are none. */
  get(namespace: string): Effect.Effect<SettingsRecord, StoreError> {
    return Effect.map(asStoreError(this.#documents.get(settingsKind, namespace)), (found) =>
      found === undefined ? { namespace, settings: {}, version: 0, updatedAt: 0 } : settingsOfDocument(found),
    )
  }

  /** Stores the settings in place of those of `record.version`; undefined if those are no longer what is there. */
  put(record: Omit<SettingsRecord, "isUnreadable">): Effect.Effect<SettingsRecord | undefined, StoreError> {
    const { namespace: id, settings: value, version: expectedVersion, updatedAt } = record
    const put = this.#documents.put({ kind: settingsKind, id, value, expectedVersion, updatedAt })
    return Effect.map(asStoreError(put), (stored) =>
      stored === undefined ? undefined : settingsOfDocument(stored),
    )
  }

  /** The first changes after a version, in their order: of a record that changed often only the last. */
  changesAfter(version: number, limit: number): Effect.Effect<ReadonlyArray<SettingsRecord>, StoreError> {
    return Effect.map(asStoreError(this.#documents.changesAfter(settingsKind, version, limit)), (changes) =>
      changes.map(settingsOfDocument),
    )
  }

  /** The names of namespaces that have settings, bytewise in order, without those that begin with `_`. */
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

/** What a newer program has added beside the known fields stays as it is. */
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
