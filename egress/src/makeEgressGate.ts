// Judges URLs by the egress rules before a call; see EgressGate.ts.
import { canonicalAddress } from "@punctual/door/AddressRanges"
import { Effect } from "effect"
import type { EgressRules } from "./Egress.ts"
import type { EgressGate, EgressReport, JudgedAddress } from "./EgressGate.ts"
import { type EarlyRefusal, earlyRefusal, literalAddress, refusalOfFound } from "./earlyRefusal.ts"
import { HttpUrls } from "./HttpUrls.ts"
import type { Resolve } from "./Resolver.ts"

/** How many checks may look up a name at once. */
const lookupsAtOnce = 2
/** No namespace has this name, so checks use up the lookups of no namespace. */
const ownNamespace = ""
/** A report shows at most this many addresses. */
const addressesShown = 20

/** The words of the product in refusals and reports. */
export interface EgressWords {
  /** The name of the setting with the rules. */
  readonly setting: string
  /** A sentence: what the product does with a URL whose host cannot be resolved. */
  readonly whenUnresolved: string
}

export const makeEgressGate = (egress: EgressRules, resolve: Resolve, words: EgressWords): EgressGate => {
  // A separate cache, so that judging many URLs does not clear the cache of the calls.
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
    refusalOf: (text) => {
      if (egress.isOpen) return undefined
      const url = urls.of(text)?.url
      const refusal = url === undefined ? undefined : earlyRefusal(url, egress)
      return refusal === undefined ? undefined : refusalText(refusal, words)
    },
    check: (text) =>
      Effect.suspend(() => {
        const url = new URL(text)
        const literal = literalAddress(url.hostname)
        if (literal !== undefined) return Effect.succeed(reportOf(url, egress, [literal], words))
        if (lookups >= lookupsAtOnce) return Effect.succeed(undefined)
        return Effect.promise(() => lookUp(url.hostname)).pipe(
          Effect.map((addresses) => reportOf(url, egress, addresses, words)),
        )
      }),
  }
}

/** The text continues a sentence that begins with the name of a field. */
const refusalText = ({ refused, remedy }: EarlyRefusal, { setting }: EgressWords): string => {
  const refusal = `must not go to ${refused}: ${setting} of this service does not allow it`
  return "never" in remedy
    ? `${refusal}. ${neverText(remedy.never, setting)}`
    : `${refusal}. Use another URL, or ask the operator to add ${remedy.entry} to ${setting}`
}

const neverText = (never: string, setting: string): string =>
  `It is ${never}, so no keyword of ${setting} allows it: use another URL`

const noEntryText = ({ refused, remedy }: EarlyRefusal, { setting }: EgressWords): string => {
  const text = `No entry of ${setting} allows ${refused}`
  return "never" in remedy ? `${text}. ${neverText(remedy.never, setting)}.` : `${text}: add ${remedy.entry}.`
}

const reportOf = (
  url: URL,
  egress: EgressRules,
  found: ReadonlyArray<string>,
  words: EgressWords,
): EgressReport => {
  const host = url.hostname
  const judged = found.slice(0, addressesShown).map((address): JudgedAddress => {
    const entry = egress.entryFor(host, address)
    return { address, ...(entry === undefined ? {} : { entry }) }
  })
  const addresses = literalAddress(host) === undefined ? judged.filter(isAllowed) : judged
  const entry = judged.find(isAllowed)?.entry
  if (entry === undefined) return withoutEntry(url, egress, addresses, judged[0]?.address, words)
  const refused = judged.length - addresses.length
  const part =
    refused === 0
      ? ""
      : ` The service does not call the other ${refused === 1 ? "address" : `${refused} addresses`}.`
  return {
    isAllowed: true,
    isKnown: true,
    entry,
    reason: `The entry ${entry} of ${words.setting} allows it.${part}`,
    addresses,
  }
}

const isAllowed = ({ entry }: JudgedAddress): boolean => entry !== undefined

const withoutEntry = (
  url: URL,
  egress: EgressRules,
  addresses: ReadonlyArray<JudgedAddress>,
  found: string | undefined,
  words: EgressWords,
): EgressReport => {
  const refusal =
    earlyRefusal(url, egress) ?? (found === undefined ? undefined : refusalOfFound(url.hostname, found))
  if (refusal !== undefined) {
    return { isAllowed: false, isKnown: true, reason: noEntryText(refusal, words), addresses }
  }
  const host = url.hostname
  const { setting, whenUnresolved } = words
  const entry = egress.entryFor(host, noAddress)
  return entry === undefined
    ? {
        isAllowed: false,
        isKnown: false,
        reason: `${host} cannot be resolved now, so its address cannot be checked. ${whenUnresolved}`,
        addresses,
      }
    : {
        isAllowed: true,
        isKnown: true,
        entry,
        reason: `The entry ${entry} of ${setting} allows the name, but ${host} cannot be resolved now. ${whenUnresolved}`,
        addresses,
      }
}

/** An address that only `open` or an entry for a name allows. */
const noAddress = "0.0.0.0"
