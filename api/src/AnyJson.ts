/**
 * A caller's own JSON, which the service carries but never reads. `Schema.Json` and `Schema.Unknown` walk the whole
 * value when they decode an HTTP body, so the cost of a request would grow with its payload. The value comes from a
 * JSON parser, so it needs no further check.
 */
import { Schema } from "effect"

export const AnyJson: Schema.Codec<unknown> = Schema.Any
