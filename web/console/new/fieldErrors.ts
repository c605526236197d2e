/** Which errors stand beside which field. */
import { ApiProblem } from "../../kit/serviceCall.ts"
import type { Members } from "../copy/copyAs.ts"
import type { FieldErrors } from "./draftChecks.ts"

/** What the service said about a request. */
export interface Refused {
  readonly error: unknown
  /** The fields as they were sent. An error disappears when its field changes. */
  readonly sent: Members
}

/** The error of the field at a pointer, or of something inside it. A whole sentence, because the label is its subject. */
export type ErrorAt = (pointer: string) => string | undefined

const memberOf = (pointer: string): string => pointer.split("/")[1] ?? ""

/** The short form of a webhook has another name. */
const longForm = (pointer: string): string => (pointer === "/callbackUrl" ? "/target/url" : pointer)

const stillSent = ({ sent }: Refused, now: Members, pointer: string): boolean => {
  const name = memberOf(pointer)
  return name === "" || sent.get(name) === now.get(name)
}

/** Checks come first, because they are about what is in the form now. */
export const errorsOf = (
  checks: FieldErrors,
  refused: Refused | undefined,
  now: Members,
): ReadonlyArray<readonly [pointer: string, detail: string]> => {
  const answered = refused?.error instanceof ApiProblem ? refused.error.errors : []
  return [
    ...checks,
    ...answered
      .filter(({ pointer }) => refused !== undefined && stillSent(refused, now, pointer))
      .map(({ pointer, detail }) => [longForm(pointer), detail] as const),
  ]
}

export const errorFinder =
  (errors: ReadonlyArray<readonly [pointer: string, detail: string]>): ErrorAt =>
  (pointer) => {
    const found = errors.filter(([at]) => at === pointer || at.startsWith(`${pointer}/`))
    if (found.length === 0) return undefined
    return found
      .map(([at, detail]) =>
        at === pointer ? detail : `${partText(at.slice(pointer.length + 1))} ${detail}`,
      )
      .join("; ")
  }

/** A part of a field: people count the elements of a list from one. */
const partText = (part: string): string => (/^\d+$/.test(part) ? `number ${Number(part) + 1}` : part)

/** What stands above the form: the error as a whole, in words. */
export const refusalText = (error: unknown, hasId: boolean): string => {
  if (!(error instanceof ApiProblem)) return error instanceof Error ? error.message : String(error)
  if (error.code === "egressRefused") {
    return "The egress rules of the service do not allow this address, so the timer was not accepted."
  }
  if (error.code === "invalidRequest") return "The service did not accept the request. See the fields below."
  if (error.code === "unreachable") {
    const repeat = hasId
      ? "You can try again: the id makes sure that there is only one timer."
      : "Without an id, another try may make a second timer. Look at the list first."
    return `The service cannot be reached, so it is not known whether the timer was created. ${repeat}`
  }
  return error.message
}
