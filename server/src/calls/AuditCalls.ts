// The audit trail, for operators and auditors.
import { bulkEndAction } from "@punctual/api/BulkJobs"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { invalidField } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import type { ListAudit, ListAuditAnswer } from "@punctual/api/ListAudit"
import { isAuditId } from "@punctual/door/AuditId"
import { AuditTrail } from "@punctual/door/AuditTrail"
import { Effect } from "effect"
import { StoreError } from "../ports/TimerStore.ts"
import type { Call } from "./Call.ts"
import { refuseRead } from "./problemOf.ts"

export interface AuditCalls {
  readonly list: Call<ListAudit, ListAuditAnswer>
}

export const makeAuditCalls = (limits: Limits): Effect.Effect<AuditCalls, never, AuditTrail> =>
  Effect.map(AuditTrail, (trail) => {
    const audited = contractEndpoints(limits).filter(({ isAudited }) => isAudited === true)
    const names = [...audited.map(({ group, name }) => `${group}.${name}`), bulkEndAction]
    const known = new Set([...names, ...audited.map(({ group }) => group)])
    return {
      list: ({ body: { cursor, limit = limits.listPageDefault, ...filter } }) => {
        if (filter.action !== undefined && !known.has(filter.action))
          return Effect.fail(invalidField("/action", `must be an audited call: ${names.join(", ")}`))
        const exclusiveAfterId = cursor === undefined ? "" : idOfCursor(cursor)
        if (exclusiveAfterId === undefined)
          return Effect.fail(invalidField("/cursor", "must be the nextCursor of an earlier answer"))
        return Effect.matchEffect(trail.list({ ...filter, exclusiveAfterId, limit }), {
          onFailure: ({ message, isFatal }) => refuseRead(new StoreError({ message, isFatal })),
          onSuccess: ({ records, unreadable, nextAfterId }) =>
            Effect.succeed({
              records,
              ...(unreadable === 0 ? {} : { unreadable }),
              ...(nextAfterId === undefined ? {} : { nextCursor: cursorOf(nextAfterId) }),
            }),
        })
      },
    }
  })

/** The cursor is opaque to callers, so that its form can change. */
const cursorOf = (id: string): string => Buffer.from(`1:${id}`).toString("base64url")

const idOfCursor = (cursor: string): string | undefined => {
  const text = Buffer.from(cursor, "base64url").toString()
  return text.startsWith("1:") && isAuditId(text.slice(2)) ? text.slice(2) : undefined
}
