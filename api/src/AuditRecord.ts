/** One record of the audit trail: who did what, when, and from where. The store keeps records in this form too. */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"

export const auditOutcomes = ["done", "unknown"] as const

const Details = Schema.Record(Schema.String, AnyJson)

export const AuditRecord = Schema.Struct({
  id: Schema.String.annotate({ description: "Sorts newer records before older ones." }),
  at: Instant.pipe(described("When the call ended, by the time of the service.")),
  action: Schema.String.annotate({ description: "The call, by its group and name." }),
  outcome: Schema.Literals(auditOutcomes).annotate({
    description:
      "done: the call succeeded. unknown: the call failed, and may have changed all, a part, or nothing.",
  }),
  caller: Schema.String.annotate({
    description:
      "The label of the key; anonymous if no key was needed; program if the service is part of the calling program.",
  }),
  keyId: Schema.optionalKey(Schema.String.annotate({ description: "Absent if the caller had no key." })),
  address: Schema.optionalKey(
    Schema.String.annotate({ description: "The address of the caller. Absent for a program." }),
  ),
  requestId: Schema.optionalKey(
    Schema.String.annotate({ description: "The header x-request-id of the answer. Absent for a program." }),
  ),
  about: Schema.optionalKey(Details.annotate({ description: "What the call concerned." })),
  before: Schema.optionalKey(Details.annotate({ description: "What changed, as it was before." })),
  after: Schema.optionalKey(Details.annotate({ description: "What changed, as it was after." })),
  count: Schema.optionalKey(Count.annotate({ description: "How many the call changed." })),
}).annotate({ identifier: "AuditRecord", description: "One action of an operator." })

export type AuditRecord = typeof AuditRecord.Type

/** What a call adds to its record: neither secrets nor payloads. */
export type AuditDetails = Pick<AuditRecord, "about" | "before" | "after" | "count">
