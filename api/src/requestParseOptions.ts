/**
 * How request bodies are decoded, everywhere: unknown fields are refused, because a misspelt option that is
 * quietly dropped is a timer that does something else, and every failure is named at once.
 */
import type { SchemaAST } from "effect"

export const requestParseOptions = {
  onExcessProperty: "error",
  errors: "all",
} as const satisfies SchemaAST.ParseOptions
