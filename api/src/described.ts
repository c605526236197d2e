/**
 * Describes a field whose wire form is decoded, such as an instant or a duration. `annotate` would describe what the program
 * sees, and the OpenAPI document shows what is sent.
 */
import { Schema } from "effect"

export const described =
  (description: string) =>
  <S extends Schema.Top & { readonly Encoded: string }>(schema: S): S["Rebuild"] =>
    Schema.annotateEncoded<S>({ description })(schema)
