/** Warnings in answers of calls that arm a timer: the request is valid, but perhaps not what the caller wanted. */
import { Schema } from "effect"

export const Warnings = Schema.Array(Schema.String).annotate({
  description:
    "Sentences about something that is valid but may be a mistake: an executeAt more than a second in the past, or an event target while there is no broker. Absent if there is no warning, and if the call changed nothing (unchanged, alreadyFinished).",
})
