/**
 * Shortens arrays that are longer than a schema allows, before the schema decodes them. Schemas decode all elements of
 * an array and then check its length. An array of a million elements would be decoded only to be refused. With one
 * element more than allowed, the schema refuses the array with the same message.
 */
import { type Schema, SchemaAST } from "effect"

/** Shortens arrays inside `input`. Call it only with an input that nobody else uses, such as parsed JSON. */
export const shortenArrays = (schema: Schema.Top): ((input: unknown) => void) => {
  const bounds = boundsOf(schema.ast)
  return bounds === undefined ? () => undefined : (input) => shorten(input, bounds)
}

/** The longest allowed array in each field, and the same for fields of fields. */
interface FieldBounds {
  readonly lengths: ReadonlyArray<readonly [name: string, max: number]>
  readonly inner: ReadonlyArray<readonly [name: string, bounds: FieldBounds]>
}

const shorten = (input: unknown, { lengths, inner }: FieldBounds): void => {
  if (typeof input !== "object" || input === null) return
  // A field may have any value: schemas check it later.
  const fields = input as Record<string, unknown>
  for (const [name, max] of lengths) {
    const value = fields[name]
    if (Array.isArray(value) && value.length > max + 1) fields[name] = value.slice(0, max + 1)
  }
  for (const [name, bounds] of inner) shorten(fields[name], bounds)
}

const boundsOf = (ast: SchemaAST.AST): FieldBounds | undefined => {
  const objects = membersOf(ast).find(SchemaAST.isObjects)
  if (objects === undefined) return undefined
  const lengths: Array<readonly [string, number]> = []
  const inner: Array<readonly [string, FieldBounds]> = []
  for (const { name, type } of objects.propertySignatures) {
    const max = membersOf(type)
      .map(maxLengthOf)
      .find((length) => length !== undefined)
    if (max !== undefined) lengths.push([String(name), max])
    const bounds = boundsOf(type)
    if (bounds !== undefined) inner.push([String(name), bounds])
  }
  return lengths.length === 0 && inner.length === 0 ? undefined : { lengths, inner }
}

/** A field that may also be null is a union. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types : [ast]

const maxLengthOf = (ast: SchemaAST.AST): number | undefined => {
  if (!SchemaAST.isArrays(ast)) return undefined
  for (const check of ast.checks ?? []) {
    const payload = check.annotations?.["representation"]?.payload
    if (typeof payload !== "object" || payload === null) continue
    if ("maxLength" in payload && typeof payload["maxLength"] === "number") return payload["maxLength"]
    if ("maximum" in payload && typeof payload["maximum"] === "number") return payload["maximum"]
  }
  return undefined
}
