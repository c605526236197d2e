/** The stream of changes of a tenant's calls, and the newest version of each call that it told. */
import { useEffect, useState } from "react"
import type { EventBatch, EventSourceTerms } from "../kit/EventReader.ts"
import { useEachBatch } from "../kit/useEvents.ts"
import type { Call } from "./agentApi.ts"

/** A test compares the types of the events with the contract. */
export const callEvents = (tenant: string): EventSourceTerms => ({
  address: `./api/v1/tenants/${encodeURIComponent(tenant)}/events`,
  types: ["call"],
  untold: ["gap"],
})

/** The calls of a batch. The browser trusts the service that the page comes from. */
export const callsIn = ({ events }: EventBatch): ReadonlyArray<Call> =>
  events.flatMap((event) => {
    const call = event["call"] as Call | undefined
    return call === undefined ? [] : [call]
  })

/** More would only cost memory: the list is loaded again long before. */
const keptMax = 5_000

/** By id: calls that have changed since the page was opened. */
export const useCallChanges = (tenant: string): ReadonlyMap<string, Call> => {
  const [changes, setChanges] = useState<ReadonlyMap<string, Call>>(new Map())
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tenant has other calls.
  useEffect(() => setChanges(new Map()), [tenant])
  useEachBatch((batch) => {
    const calls = callsIn(batch).filter((call) => call.tenantId === tenant)
    if (calls.length === 0) return
    setChanges((known) => {
      const next = new Map(known.size > keptMax ? [] : known)
      for (const call of calls) {
        const before = next.get(call.serviceCallId)
        // The service may repeat what it has told.
        if (before === undefined || before.version < call.version) next.set(call.serviceCallId, call)
      }
      return next
    })
  })
  return changes
}

/** The newer of two versions of a call. */
export const newer = (one: Call, other: Call | undefined): Call =>
  other === undefined || other.version <= one.version ? one : other
