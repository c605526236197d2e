/**
 * Describes a field whose wire form is decoded, such as an instant or a duration. `annotate` would describe the decoded
 * value, but the OpenAPI document shows the wire form.
 */
import { Schema, SchemaAST } from "effect"

export const described =
  (description: string) =>
  <S extends Schema.Top & { readonly Encoded: string }>(schema: S): S["Rebuild"] =>
    Schema.annotateEncoded<S>({ description })(schema)

/** Puts a sentence about its use before the description of a schema. */
export const usedFor =
  (purpose: string) =>
  <S extends Schema.Top & { readonly Encoded: string }>(schema: S): S["Rebuild"] => {
    const own = SchemaAST.toEncoded(schema.ast).annotations?.["description"]
    return described(typeof own === "string" ? `${purpose} ${own}` : purpose)(schema)
  }
