/** How many timers a page may have. */
import { Schema } from "effect"
import { type Limits, limitHint, pageBytesText } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

export const makePageLimit = perLimits(({ listPage, listPageDefault }: Limits) => {
  const message = `must be a whole number from 1 to ${listPage}`
  return Schema.Number.annotate({ message }).check(
    Schema.isInt({ message }),
    Schema.isBetween(
      { minimum: 1, maximum: listPage },
      {
        message: `${message}${limitHint("listPage")}`,
        description: `The size of a page (default ${listPageDefault}). ${pageBytesText}`,
      },
    ),
  )
})
