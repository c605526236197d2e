// Where the settings of namespaces, and those of the service as a whole, are kept: beside the timers, so that every
// node finds them and a backup holds them.
//
// Laws, which testkit/NamespaceStore.suite.ts checks for every adapter:
//  - An answered write survives a kill of the process.
//  - A write names the version that it was made from, and is refused (`undefined`) if another came between.
//  - Versions rise over the whole store, in the order of commits: whoever has read all changes up to a version misses
//    none by asking for those after it.
//  - What is stored comes back the same. Settings that were reset are an empty record, not an absent one.
import { Context, type Effect } from "effect"
import type { NamespaceSettings, ServiceSettings } from "../domain/NamespaceSettings.ts"
import type { StoreError } from "./TimerStore.ts"

/** Under this name, which no tenant can have, the settings of the service as a whole are kept. */
export const serviceRecord = "_service"

export interface SettingsRecord {
  readonly namespace: string
  readonly settings: NamespaceSettings & ServiceSettings
  /** 0 if nothing was ever stored under the name. */
  readonly version: number
  readonly updatedAt: number
}

export class NamespaceStore extends Context.Service<
  NamespaceStore,
  {
    /** Stores the settings in place of those of `record.version`; answers what is stored now, or undefined if those are no longer what is there. */
    put(record: SettingsRecord): Effect.Effect<SettingsRecord | undefined, StoreError>
    /** Version 0 and no settings if there are none. */
    get(namespace: string): Effect.Effect<SettingsRecord, StoreError>
    /** The first changes after a version, in their order: of a record that changed often only the last. */
    changesAfter(version: number, limit: number): Effect.Effect<ReadonlyArray<SettingsRecord>, StoreError>
    /**
     * The names, bytewise in order, of namespaces that have settings, pending timers, history or dead letters; without
     * those that begin with `_`.
     */
    names(exclusiveAfter: string, limit: number): Effect.Effect<ReadonlyArray<string>, StoreError>
  }
>()("punctual/ports/NamespaceStore") {}
