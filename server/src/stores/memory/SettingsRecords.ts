// The settings of namespaces in plain memory, under the laws of ports/NamespaceStore.ts but durability.
import type { SettingsRecord } from "../../ports/NamespaceStore.ts"
import { emptyRecord, settingsOfText, textOfSettings } from "../settingsText.ts"

export class SettingsRecords {
  readonly #records = new Map<string, SettingsRecord>()
  #version = 0

  put(record: SettingsRecord): SettingsRecord | undefined {
    if (this.get(record.namespace).version !== record.version) return undefined
    // As from a disk: what the caller does with its own copy later changes nothing here.
    const settings = settingsOfText(textOfSettings(record.settings))
    const stored = { ...record, settings, version: ++this.#version }
    // Taken out first, so that records are in the order of their versions.
    this.#records.delete(record.namespace)
    this.#records.set(record.namespace, stored)
    return stored
  }

  get(namespace: string): SettingsRecord {
    return this.#records.get(namespace) ?? emptyRecord(namespace)
  }

  changesAfter(version: number, limit: number): ReadonlyArray<SettingsRecord> {
    return [...this.#records.values()].filter((record) => record.version > version).slice(0, limit)
  }

  get names(): Iterable<string> {
    return this.#records.keys()
  }
}
