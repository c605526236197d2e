// The fields of a pending timer and of a finished life: name, kind and column. Wire forms, archive lines, columns,
// statements, the packs between threads and the JSON of the API are made from these tables.
//
// Key, spec and payload are not in the tables, because each place writes them in its own way. There are two kinds of
// fields:
//  - Base fields. The functions of every write and every delivery name them one by one, because a loop over a table
//    takes up to three times as long there. test/domain/timerFields.test.ts proves that these functions know every
//    field.
//  - Added fields. All places loop over the table for them, so a new field needs only an entry here, a line in Timer.ts
//    and a migration for each SQL store. They belong to an arming, and stay the same when it ends, is repeated or is
//    replayed. They are optional, and a timer without them costs only a check of one property.
import type { FinishedLife, Mutable, Timer, TimerKey } from "./Timer.ts"

/**
 * `revision` needs eight bytes, and `count` four. `log` is an attempt log, and `texts` a list of strings. SQL stores
 * keep both as JSON.
 */
export type FieldKind =
  | "text"
  | "state"
  | "fireId"
  | "instant"
  | "revision"
  | "count"
  | "number"
  | "log"
  | "texts"

export interface TimerField<Name extends string = string> {
  readonly name: Name
  readonly column: string
  readonly kind: FieldKind
  readonly isOptional?: true
}

interface AddedField extends TimerField<keyof Timer & keyof FinishedLife> {
  readonly kind: "text" | "number" | "texts"
  readonly isOptional: true
  /**
   * The field says where a request came from, not what it asks for. Two creates that differ only in it are the same.
   */
  readonly isOrigin?: true
}

export const addedFields = [
  { name: "tags", column: "tags", kind: "texts", isOptional: true },
  { name: "traceparent", column: "traceparent", kind: "text", isOptional: true, isOrigin: true },
] as const satisfies ReadonlyArray<AddedField>

export const pendingFields = [
  { name: "fireId", column: "fire_id", kind: "fireId" },
  { name: "revision", column: "revision", kind: "revision" },
  { name: "executeAt", column: "execute_at", kind: "instant" },
  { name: "fireAt", column: "fire_at", kind: "instant" },
  { name: "attempts", column: "attempts", kind: "count" },
  { name: "firstAttemptAt", column: "first_attempt_at", kind: "instant", isOptional: true },
  { name: "attemptLog", column: "last_attempt", kind: "log", isOptional: true },
  { name: "createdAt", column: "created_at", kind: "instant" },
  { name: "updatedAt", column: "updated_at", kind: "instant" },
  { name: "askedAt", column: "asked_at", kind: "instant", isOptional: true },
  { name: "correlationId", column: "correlation_id", kind: "text" },
  ...addedFields,
] as const satisfies ReadonlyArray<TimerField<keyof Timer>>

export const finishedFields = [
  { name: "state", column: "state", kind: "state" },
  { name: "fireId", column: "fire_id", kind: "fireId" },
  { name: "revision", column: "revision", kind: "revision" },
  { name: "executeAt", column: "execute_at", kind: "instant" },
  { name: "attempts", column: "attempts", kind: "count" },
  { name: "attemptLog", column: "last_attempt", kind: "log", isOptional: true },
  { name: "createdAt", column: "created_at", kind: "instant" },
  { name: "finishedAt", column: "finished_at", kind: "instant" },
  { name: "latenessMs", column: "lateness_ms", kind: "number", isOptional: true },
  { name: "reason", column: "reason", kind: "text", isOptional: true },
  { name: "endedBy", column: "ended_by", kind: "text", isOptional: true },
  { name: "correlationId", column: "correlation_id", kind: "text" },
  ...addedFields,
] as const satisfies ReadonlyArray<TimerField<keyof FinishedLife>>

export type PendingField = (typeof pendingFields)[number]
export type FinishedField = (typeof finishedFields)[number]

type ApartFromFields = keyof TimerKey | "spec" | "payload"
type InNoTable =
  | Exclude<keyof Timer, ApartFromFields | PendingField["name"]>
  | Exclude<keyof FinishedLife, ApartFromFields | FinishedField["name"]>

type Nothing<Name extends never> = Name

/** This type is an error if a field of a timer or a life is in no table. The error names the field. */
export type FieldsInNoTable = Nothing<InNoTable>

type AddedName = (typeof addedFields)[number]["name"]

/** The added fields of a timer or a life. */
export type AddedTerms = Pick<Timer, AddedName>

/** The added fields in an update: an absent field stays, null clears it. */
export type AddedChanges = { readonly [name in AddedName]?: Exclude<Timer[name], undefined> | null }

/** The fields by name, for the loops below and in stores. */
export type TermsByName = { [name: string]: unknown }

const addedNames: ReadonlyArray<string> = (addedFields as ReadonlyArray<AddedField>).map(({ name }) => name)

/**
 * Combines one step for each added field into one function. On the hot paths a loop over a table costs more than the
 * work itself.
 */
export const forEachAdded = <Args extends ReadonlyArray<unknown>>(
  stepOf: (field: TimerField, index: number) => (...args: Args) => void,
): ((...args: Args) => void) => {
  const [first = () => {}, ...rest] = (addedFields as ReadonlyArray<TimerField>).map(stepOf)
  return rest.reduce(
    (before, step) =>
      (...args: Args) => {
        before(...args)
        step(...args)
      },
    first,
  )
}

/** Copies the added fields from the first to the second object. null counts as absent. */
export const copyAdded: (from: AddedTerms | AddedChanges, to: Mutable<AddedTerms>) => void = forEachAdded(
  ({ name }) =>
    (from: TermsByName, to: TermsByName) => {
      const value = from[name]
      if (value !== undefined && value !== null) to[name] = value
    },
)

/** The added fields of `pending` after a change. */
export const addedAfter = (pending: AddedTerms, set: AddedChanges): AddedTerms => {
  const after: TermsByName = {}
  for (const name of addedNames) {
    const asked = (set as TermsByName)[name]
    const value = asked === undefined ? (pending as TermsByName)[name] : asked
    if (value !== undefined && value !== null) after[name] = value
  }
  return after
}

/** The added fields that a request names, unchanged. */
export const addedIn = (request: AddedChanges): AddedChanges => {
  const named: TermsByName = {}
  for (const name of addedNames) {
    const value = (request as TermsByName)[name]
    if (value !== undefined) named[name] = value
  }
  return named
}

const comparedNames: ReadonlyArray<string> = (addedFields as ReadonlyArray<AddedField>)
  .filter(({ isOrigin }) => isOrigin !== true)
  .map(({ name }) => name)

/** Whether two requests have the same added fields. */
export const haveSameAdded = (a: AddedTerms, b: AddedTerms): boolean =>
  comparedNames.every((name) => isSameTerm((a as TermsByName)[name], (b as TermsByName)[name]))

const isSameTerm = (a: unknown, b: unknown): boolean =>
  Array.isArray(a) && Array.isArray(b)
    ? a.length === b.length && a.every((part, index) => part === b[index])
    : a === b
