/** What answers of calls that arm a timer say beside their result: nothing is wrong, but the caller may not have meant it. */
import { Schema } from "effect"

export const Warnings = Schema.Array(Schema.String).annotate({
  description:
    "What the caller may not have meant, in sentences for people: an executeAt that lies more than a second in the past. Absent if there is nothing to say, and where the call armed nothing (unchanged, alreadyFinished).",
})
