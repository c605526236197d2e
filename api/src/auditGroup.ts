/** The call about the audit trail. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { describeCall } from "./describeCall.ts"
import type { Limits } from "./Limits.ts"
import { ListAuditAnswer, makeListAudit } from "./ListAudit.ts"
import { commonProblems } from "./Problem.ts"

export const makeAuditGroup = (limits: Limits) =>
  HttpApiGroup.make("audit")
    .add(
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListAudit(limits),
        success: ListAuditAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "audit.read", takesTurns: true },
          "List audit records",
          { action: "namespaces.put", limit: 50 },
          "Answers who did what, newest first: one record for each call of an operator that changed something. Records contain neither secrets nor payloads. A page may be short or empty and still have a nextCursor.",
        ),
      ),
    )
    .prefix("/audit")
    .annotateMerge(OpenApi.annotations({ title: "Audit", description: "What operators did." }))
