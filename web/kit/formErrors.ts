/** What the service found wrong with a form, field by field. */
import { ApiProblem } from "./serviceCall.ts"

export interface FormErrors {
  /** What is wrong with the field at this pointer or with a part of it. */
  readonly at: (pointer: string) => string | undefined
  /** What is wrong that no field of the form shows. */
  readonly others: ReadonlyArray<string>
}

/** `pointers`: the fields of the form. */
export const formErrors = (error: Error | null, pointers: ReadonlyArray<string>): FormErrors => {
  if (error === null) return { at: () => undefined, others: [] }
  const errors = (error instanceof ApiProblem ? error.errors : []).map(({ pointer, detail }) => ({
    pointer,
    // In a form, an empty field stands for null.
    detail: detail.replace(/,? or null$/, ", or empty"),
  }))
  const ownerOf = (pointer: string) =>
    pointers
      .filter((known) => pointer === known || pointer.startsWith(`${known}/`))
      .sort((a, b) => b.length - a.length)[0]
  const shown = errors.filter(({ pointer }) => ownerOf(pointer) !== undefined)
  return {
    at: (wanted) => shown.find(({ pointer }) => ownerOf(pointer) === wanted)?.detail,
    others:
      errors.length === 0
        ? [error.message]
        : errors
            .filter((one) => !shown.includes(one))
            .map(({ pointer, detail }) => `${pointer.replace(/^\//, "")} ${detail}`),
  }
}
