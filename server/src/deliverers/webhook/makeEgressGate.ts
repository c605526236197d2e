// Judges targets by the egress rules before an attempt; see ports/EgressGate.ts.
import { Effect } from "effect"
import type { EgressGate, EgressReport, JudgedAddress } from "../../ports/EgressGate.ts"
import { canonicalAddress, type EgressRules, entryThatAllows } from "./Egress.ts"
import { type EarlyRefusal, earlyRefusal, literalAddress } from "./earlyRefusal.ts"
import { HttpUrls } from "./HttpUrls.ts"
import type { Resolve } from "./Resolver.ts"

/** How many checks may look up a name at once. */
const lookupsAtOnce = 2
/** No namespace has this name, so checks use up the lookups of no namespace. */
const ownNamespace = ""
/** A report shows at most this many addresses. */
const addressesShown = 20

export const makeEgressGate = (egress: EgressRules, resolve: Resolve): EgressGate => {
  // A separate cache, so that creates with many URLs do not clear the cache of the deliveries.
  const urls = new HttpUrls()
  let lookups = 0
  const lookUp = async (host: string): Promise<ReadonlyArray<string>> => {
    lookups++
    try {
      const addresses = await resolve(host, ownNamespace)
      // The system may report one address several times.
      return [...new Set(addresses.map((address) => canonicalAddress(address) ?? address))]
    } catch {
      return []
    } finally {
      lookups--
    }
  }
  return {
    refusalOf: (target) => {
      if (egress.isOpen || target.type !== "webhook") return undefined
      const url = urls.of(target)?.url
      const refusal = url === undefined ? undefined : earlyRefusal(url, egress)
      return refusal === undefined ? undefined : refusalText(refusal)
    },
    check: (text) =>
      Effect.suspend(() => {
        const url = new URL(text)
        const literal = literalAddress(url.hostname)
        if (literal !== undefined) return Effect.succeed(reportOf(url, egress, [literal]))
        if (lookups >= lookupsAtOnce) return Effect.succeed(undefined)
        return Effect.promise(() => lookUp(url.hostname)).pipe(
          Effect.map((addresses) => reportOf(url, egress, addresses)),
        )
      }),
  }
}

const refusalText = ({ refused, entry }: EarlyRefusal): string =>
  `${refused} is not allowed by TIMER_EGRESS of this service: use another URL, or ask the operator to add ${entry} to TIMER_EGRESS`

const reportOf = (url: URL, egress: EgressRules, found: ReadonlyArray<string>): EgressReport => {
  const host = url.hostname
  const addresses = found.slice(0, addressesShown).map((address): JudgedAddress => {
    const entry = egress.entryFor(host, address)
    return { address, ...(entry === undefined ? {} : { entry }) }
  })
  const entry = addresses.find((judged) => judged.entry !== undefined)?.entry
  if (entry !== undefined) {
    const refused = addresses.filter((judged) => judged.entry === undefined).length
    const part =
      refused === 0 ? "" : ` The service does not use the addresses that no entry allows (${refused}).`
    return {
      isAllowed: true,
      entry,
      reason: `The entry ${entry} of TIMER_EGRESS allows it.${part}`,
      addresses,
    }
  }
  return withoutEntry(url, egress, addresses)
}

const withoutEntry = (
  url: URL,
  egress: EgressRules,
  addresses: ReadonlyArray<JudgedAddress>,
): EgressReport => {
  const [first] = addresses
  if (first !== undefined) {
    const reason = `No entry of TIMER_EGRESS allows ${first.address}: add ${entryThatAllows(first.address)}.`
    return { isAllowed: false, reason, addresses }
  }
  const early = earlyRefusal(url, egress)
  if (early !== undefined) {
    const reason = `No entry of TIMER_EGRESS allows ${early.refused}: add ${early.entry}.`
    return { isAllowed: false, reason, addresses }
  }
  const unresolved = `${url.hostname} cannot be resolved now. Timers with this URL are retried by their policy.`
  const entry = egress.entryFor(url.hostname, noAddress)
  return entry === undefined
    ? { isAllowed: false, reason: unresolved, addresses }
    : {
        isAllowed: true,
        entry,
        reason: `The entry ${entry} of TIMER_EGRESS allows the name, but ${unresolved}`,
        addresses,
      }
}

/** An address that only `open` or an entry for a name allows. */
const noAddress = "0.0.0.0"
