// The settings of a namespace as the text that stores keep: they are read whole and written whole, and no store looks
// into them.
import type { SettingsRecord } from "../ports/NamespaceStore.ts"

export const textOfSettings = (settings: SettingsRecord["settings"]): string => JSON.stringify(settings)

/** The text is the store's own. */
export const settingsOfText = (text: string): SettingsRecord["settings"] => JSON.parse(text)

export interface SettingsRow {
  readonly namespace: string
  readonly settings: string
  readonly version: number
  readonly updated_at: number
}

export const recordOf = (row: SettingsRow): SettingsRecord => ({
  namespace: row.namespace,
  settings: settingsOfText(row.settings),
  version: row.version,
  updatedAt: row.updated_at,
})

/** Of a name under which nothing was ever stored. */
export const emptyRecord = (namespace: string): SettingsRecord => ({
  namespace,
  settings: {},
  version: 0,
  updatedAt: 0,
})
