// Added fields (domain/timerFields.ts) in SQL columns and packs: primitives, and lists of texts as JSON. A text that is
// not such a list makes its row unreadable, like a damaged spec.
import type { Spec } from "../domain/Timer.ts"
import {
  type AddedTerms,
  addedFields,
  forEachAdded,
  type TermsByName,
  type TimerField,
} from "../domain/timerFields.ts"
import { jsonOf } from "./jsonText.ts"
import { unreadableSpec } from "./SpecText.ts"

export type StoredValue = string | number | null

const fields: ReadonlyArray<TimerField> = addedFields

/** The columns of the added fields, in the order of their values. */
export const addedColumns: ReadonlyArray<string> = fields.map(({ column }) => column)

/** One value for each added field. Most rows have none of them. */
export const addedValues = (row: AddedTerms): ReadonlyArray<StoredValue> => {
  for (let index = 0; index < getters.length; index++) {
    if (addedValue(row, index) !== null) return getters.map((get) => get(row))
  }
  return nothingAdded
}

const nothingAdded: ReadonlyArray<StoredValue> = fields.map(() => null)

/** The value of the added field with this index. */
export const addedValue = (row: AddedTerms, index: number): StoredValue => getters[index]?.(row) ?? null

const getters = fields.map(({ name }) => (row: TermsByName): StoredValue => {
  const value = row[name]
  if (value === undefined) return null
  // An added field is a text, a number or a list of texts: see AddedField.
  return Array.isArray(value) ? JSON.stringify(value) : (value as StoredValue)
})

type ReadRow = AddedTerms & { spec: Spec }

/** Adds the value of a column to the row that was read. */
export const addStored = (row: ReadRow, index: number, stored: StoredValue): void => {
  const field = fields[index]
  if (field === undefined || stored === null) return
  const value = field.kind === "texts" ? textsOf(stored) : stored
  // The types of the table guarantee that the row has this field.
  if (value !== undefined) (row as unknown as TermsByName)[field.name] = value
  else if (row.spec.unreadable === undefined)
    row.spec = unreadableSpec(`its ${field.name} have another shape`)
}

/** Adds all values of a row with named columns. */
export const addStoredOf: (row: ReadRow, columns: object) => void = forEachAdded(
  ({ column }, index) =>
    (row: ReadRow, columns: object) => {
      const stored = (columns as { readonly [column: string]: StoredValue })[column]
      if (stored !== null && stored !== undefined) addStored(row, index, stored)
    },
)

/** The tags of a scanned head. Damaged tags match no filter. The row is read in full before it is shown. */
export const tagsOfHead = (stored: string | null): { readonly tags?: ReadonlyArray<string> } => {
  const tags = stored === null ? undefined : textsOf(stored)
  return tags === undefined ? {} : { tags }
}

const textsOf = (stored: StoredValue): ReadonlyArray<string> | undefined => {
  const json = typeof stored === "string" ? jsonOf(stored) : undefined
  return Array.isArray(json) && json.every((part) => typeof part === "string") ? json : undefined
}
