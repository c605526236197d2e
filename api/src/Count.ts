/** A whole number of things in an answer. */
import { Schema } from "effect"

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
