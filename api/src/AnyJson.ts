/**
 * A caller's own JSON, carried and never looked into. `Schema.Json` and `Schema.Unknown` walk the whole value
 * when an HTTP body is decoded, so that a request would cost what its payload holds; what a JSON parser
 * returned is JSON already.
 */
import { Schema } from "effect"

export const AnyJson: Schema.Codec<unknown> = Schema.Any
