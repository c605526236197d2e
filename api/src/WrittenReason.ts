/** Why somebody did something: a text that people wrote for people. Audit records and pages show it. */
import { Schema } from "effect"
import { visiblePattern, whyNotVisible } from "./whyNotVisible.ts"

const reasonCharsMax = 500

const message = `must be visible text of 1 to ${reasonCharsMax} characters`

/** `description`: where it is shown. */
export const makeWrittenReason = (description: string) =>
  Schema.String.annotate({ message }).check(
    Schema.isBetweenLength(1, reasonCharsMax, { message, description }),
    Schema.makeFilter(whyNotVisible, { toJsonSchema: () => ({ pattern: visiblePattern }) }),
  )
