// The tenants that a caller may see. The store is asked only for the ranges of names that the caller's rights allow, so
// neither an answer nor a cursor contains the name of another tenant.
import { callLimits } from "@punctual/api/agent/callLimits"
import type { ListTenantsAnswer, ListTenantsQuery } from "@punctual/api/agent/TenantCalls"
import { invalidField } from "@punctual/api/invalidRequest"
import { everything } from "@punctual/api/KeyRights"
import { Namespace } from "@punctual/api/Namespace"
import type { Problem } from "@punctual/api/Problem"
import { Effect, Schema } from "effect"
import type { ServiceCalls } from "../calls/ServiceCalls.ts"
import type { TenantRange } from "../domain/TenantSettings.ts"
import { refuseCall } from "./refuseCall.ts"

const isTenant = Schema.is(Namespace)
const refuse = refuseCall("calls.read")

/** `namespaces`: names, prefixes such as `team-*`, or `*`. */
export const listTenants = (
  calls: ServiceCalls["Service"],
  namespaces: ReadonlyArray<string>,
  { cursor, limit = callLimits.tenantsPage }: ListTenantsQuery,
): Effect.Effect<ListTenantsAnswer, Problem> =>
  Effect.gen(function* () {
    if (cursor !== undefined && !isTenant(cursor))
      return yield* Effect.fail(invalidField("/cursor", "must be the nextCursor of an earlier answer"))
    const first = cursor === undefined ? "" : after(cursor)
    const found: Array<string> = []
    for (const range of rangesOf(namespaces)) {
      const rest = first > range.inclusiveFrom ? { ...range, inclusiveFrom: first } : range
      if (rest.inclusiveFrom >= rest.exclusiveUntil) continue
      found.push(...(yield* Effect.catch(calls.tenants(rest, limit + 1 - found.length), refuse)))
      if (found.length > limit) break
    }
    const page = found.slice(0, limit)
    const last = page.at(-1)
    return {
      tenants: page.map((tenantId) => ({ tenantId })),
      ...(found.length > limit && last !== undefined ? { nextCursor: last } : {}),
    }
  })

/** A name contains no blank, and a blank sorts before every character of a name. */
const after = (name: string): string => `${name} `

/** Sorted and apart from each other. */
const rangesOf = (namespaces: ReadonlyArray<string>): ReadonlyArray<TenantRange> => {
  const sorted = namespaces
    .map((pattern): TenantRange => {
      if (!pattern.endsWith(everything)) return { inclusiveFrom: pattern, exclusiveUntil: after(pattern) }
      const prefix = pattern.slice(0, -everything.length)
      return { inclusiveFrom: prefix, exclusiveUntil: `${prefix}\x7f` }
    })
    .toSorted((a, b) => (a.inclusiveFrom < b.inclusiveFrom ? -1 : 1))
  const ranges: Array<TenantRange> = []
  for (const range of sorted) {
    const last = ranges.at(-1)
    if (last === undefined || range.inclusiveFrom >= last.exclusiveUntil) ranges.push(range)
    else if (range.exclusiveUntil > last.exclusiveUntil)
      ranges[ranges.length - 1] = { ...last, exclusiveUntil: range.exclusiveUntil }
  }
  return ranges
}
