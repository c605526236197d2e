// Reads and writes the settings in a memory database at once, without a node.
import { documentsIn } from "@punctual/documents/memory/MemoryDocuments"
import { Effect } from "effect"
import { type SettingsRecord, SettingsRecords } from "../src/engine/namespaces/SettingsRecords.ts"
import type { MemoryDatabase } from "../src/stores/memory/MemoryDatabase.ts"

export const settingsIn = (database: MemoryDatabase, namespace: string): SettingsRecord =>
  Effect.runSync(recordsIn(database).get(namespace))

/** Replaces the current settings. */
export const setIn = (
  database: MemoryDatabase,
  namespace: string,
  settings: SettingsRecord["settings"],
  updatedAt: number,
): void => {
  const { version } = settingsIn(database, namespace)
  Effect.runSync(recordsIn(database).put({ namespace, settings, version, updatedAt }))
}

const recordsIn = (database: MemoryDatabase): SettingsRecords =>
  new SettingsRecords(documentsIn(database.documents))
