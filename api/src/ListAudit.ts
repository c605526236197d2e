/** `/audit/list`: the records of what operators did, newest first. */
import { Schema } from "effect"
import { AuditRecord } from "./AuditRecord.ts"
import { Count } from "./Count.ts"
import { makeCursor } from "./Cursor.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { type Limits, pageBytesText } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

const actionMessage = "must be a call such as namespaces.put, or a group of calls such as namespaces"
const keyMessage = "must be the id or the label of a key, 1 to 200 characters"

export const makeListAudit = perLimits((limits: Limits) => {
  const limitMessage = `must be a whole number from 1 to ${limits.listPage}`
  return Schema.Struct({
    since: Schema.optionalKey(Instant.pipe(described("Only records from this instant on."))),
    until: Schema.optionalKey(Instant.pipe(described("Only records before this instant."))),
    action: Schema.optionalKey(
      Schema.String.annotate({ message: actionMessage }).check(
        Schema.isPattern(/^[a-z][A-Za-z]{0,39}(?:\.[a-z][A-Za-z]{0,39})?$/u, {
          message: actionMessage,
          description: "Only records of this call, such as namespaces.put, or of this group of calls.",
        }),
      ),
    ),
    key: Schema.optionalKey(
      Schema.String.annotate({ message: keyMessage }).check(
        Schema.isBetweenLength(1, 200, {
          message: keyMessage,
          description: "Only records of callers with this key id or with this label.",
        }),
      ),
    ),
    cursor: Schema.optionalKey(makeCursor(limits)),
    limit: Schema.optionalKey(
      Schema.Number.annotate({ message: limitMessage }).check(
        Schema.isInt({ message: limitMessage }),
        Schema.isBetween(
          { minimum: 1, maximum: limits.listPage },
          {
            message: limitMessage,
            description: `The size of a page (default ${limits.listPageDefault}). ${pageBytesText}`,
          },
        ),
      ),
    ),
  })
    .annotate({ message: "must be a JSON object", description: "Lists audit records, newest first." })
    .annotate({ identifier: "ListAudit" })
})

export type ListAudit = ReturnType<typeof makeListAudit>["Type"]

export const ListAuditAnswer = Schema.Struct({
  records: Schema.Array(AuditRecord),
  unreadable: Schema.optionalKey(
    Count.annotate({ description: "How many records in this part of the trail cannot be read." }),
  ),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({ description: "Present if there may be more records. Send it as cursor." }),
  ),
}).annotate({ identifier: "ListAuditAnswer", description: "One page of audit records, newest first." })

export type ListAuditAnswer = typeof ListAuditAnswer.Type
