/**
 * Turns the errors of a schema into the `invalidRequest` problem. Each error has a JSON pointer to the field and a
 * sentence with the fix. The problem is limited in size and never repeats values: a payload may be private, and a large
 * body must not lead to a large answer.
 */
import { SchemaAST, type SchemaIssue } from "effect"
import { nearName } from "./nearName.ts"
import { type FieldError, InvalidRequest } from "./Problem.ts"

/** How many errors of one request are listed. */
export const errorsMax = 20
const detailChars = 300
const pointerSegmentChars = 100

/** The problem for a body that a schema refused. `at` is the pointer to the decoded part. */
export const invalidRequest = (issue: SchemaIssue.Issue, at = "", most = errorsMax): InvalidRequest =>
  fromFieldErrors(fieldErrors(issue, at, most), most)

/** The problem for a field that a schema cannot check, such as an instant too far in the future. */
export const invalidField = (pointer: string, detail: string): InvalidRequest =>
  fromFieldErrors([{ pointer, detail }])

/** The first failures of an issue. */
export const fieldErrors = (
  issue: SchemaIssue.Issue,
  at = "",
  most = errorsMax,
): ReadonlyArray<FieldError> => {
  const errors: Array<FieldError> = []
  for (const error of walk(issue, at, undefined)) {
    errors.push(error)
    if (errors.length === most) break
  }
  return errors
}

const fromFieldErrors = (errors: ReadonlyArray<FieldError>, most = errorsMax): InvalidRequest => {
  const [first] = errors
  const where = first === undefined || first.pointer === "" ? "the body" : first.pointer
  const more = moreThan(errors.length, most)
  return new InvalidRequest({
    detail:
      first === undefined
        ? "the body is not valid"
        : `${truncate(`${where} ${first.detail}`, detailChars - more.length)}${more}`,
    errors,
  })
}

/** Says how many errors there are besides the first. If the list is full, there may be more than it shows. */
const moreThan = (count: number, most: number): string => {
  if (count >= most) return most === 1 ? " (there may be more errors)" : ` (and at least ${count - 1} more)`
  return count > 1 ? ` (and ${count - 1} more)` : ""
}

/**
 * Walks the tree of issues lazily, so that no more issues are processed than are shown. `override` is the message of an
 * enclosing filter, which replaces the messages inside it.
 */
function* walk(
  issue: SchemaIssue.Issue,
  pointer: string,
  override: string | undefined,
): Generator<FieldError, void> {
  switch (issue._tag) {
    case "Filter":
      yield* walk(issue.issue, pointer, override ?? messageOf(issue.filter.annotations))
      break
    case "Encoding":
      yield* walk(issue.issue, pointer, override)
      break
    case "Pointer":
      yield* walk(issue.issue, pointer + issue.path.map(pointerSegment).join(""), override)
      break
    case "Composite":
      for (const inner of issue.issues) yield* walk(inner, pointer, override)
      break
    case "AnyOf":
      // A union has no inner issues if no member matched even partly. Then its own message is shown.
      if (issue.issues.length === 0) yield { pointer, detail: truncate(override ?? detailOf(issue)) }
      for (const inner of issue.issues) yield* walk(inner, pointer, override)
      break
    case "UnexpectedKey":
      yield { pointer, detail: truncate(override ?? unknownField(issue.ast, pointer)) }
      break
    default:
      yield { pointer, detail: truncate(override ?? detailOf(issue)) }
  }
}

const detailOf = (issue: SchemaIssue.Issue): string => {
  switch (issue._tag) {
    case "MissingKey":
      return "is required"
    case "InvalidType":
      return messageOf(issue.ast.annotations) ?? `must be ${typeName(issue.ast)}`
    case "InvalidValue":
      return messageOf(issue.annotations) ?? "is not valid"
    case "AnyOf":
      return messageOf(issue.ast.annotations) ?? "is not one of the allowed values"
    default:
      return "is not valid"
  }
}

const unknownField = (ast: SchemaAST.AST, pointer: string): string => {
  const known = SchemaAST.isObjects(ast)
    ? ast.propertySignatures.map((property) => String(property.name))
    : []
  if (known.length === 0) return "is an unknown field: remove it"
  const meant = nearName(pointer.slice(pointer.lastIndexOf("/") + 1), known)
  return meant === undefined
    ? `is an unknown field: remove it, or use one of ${known.join(", ")}`
    : `is an unknown field: did you mean ${meant}?`
}

const typeName = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "String":
      return "text"
    case "Number":
      return "a number"
    case "Boolean":
      return "true or false"
    case "Arrays":
      return "an array"
    case "Objects":
      return "a JSON object"
    case "Null":
      return "null"
    case "Literal":
      return JSON.stringify(ast.literal)
    default:
      return "of another type"
  }
}

const messageOf = (annotations: { readonly message?: unknown } | undefined): string | undefined =>
  typeof annotations?.message === "string" ? annotations.message : undefined

/** One step of a JSON pointer, escaped by RFC 6901. It is shortened, because callers choose the names of fields. */
const pointerSegment = (key: PropertyKey): string => {
  const text = String(key)
  const shown = text.length > pointerSegmentChars ? `${text.slice(0, pointerSegmentChars)}…` : text
  return `/${shown.replaceAll("~", "~0").replaceAll("/", "~1").toWellFormed()}`
}

const truncate = (text: string, chars = detailChars): string =>
  text.length <= chars ? text : `${text.slice(0, chars - 1)}…`
