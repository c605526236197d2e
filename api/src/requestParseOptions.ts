/**
 * How request bodies are decoded everywhere. Unknown fields are refused: if the service ignored a misspelt option, the
 * timer would do something else than the caller wants. All errors are reported at once.
 */
import type { SchemaAST } from "effect"

export const requestParseOptions = {
  onExcessProperty: "error",
  errors: "all",
} as const satisfies SchemaAST.ParseOptions
