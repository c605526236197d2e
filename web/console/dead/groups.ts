/** Dead letters by cause: the host of the target, and the reason. A cause usually needs one decision. */
import type { Timer } from "../api.ts"
import { withStatusWords } from "../statusWords.ts"
import { reasonWords } from "../timers/words.ts"

export interface DeadGroup {
  readonly key: string
  /** Where the timers went, for the reader. */
  readonly place: string
  readonly reason: string
  /** In the order of the list. */
  readonly timers: ReadonlyArray<Timer>
  /** The one that died last. */
  readonly latest: Timer
  /** What selects exactly this group; undefined if no filter can. */
  readonly filter: { readonly host: string; readonly reason: string } | undefined
}

export const groupsOf = (timers: ReadonlyArray<Timer>): ReadonlyArray<DeadGroup> => {
  const found = new Map<string, Array<Timer>>()
  for (const timer of timers) {
    const key = groupKey(timer)
    const members = found.get(key)
    if (members === undefined) found.set(key, [timer])
    else members.push(timer)
  }
  return [...found]
    .flatMap(([key, members]) => groupOf(key, members) ?? [])
    .sort(
      (one, other) => other.timers.length - one.timers.length || diedMs(other.latest) - diedMs(one.latest),
    )
}

export const groupKey = (timer: Timer): string =>
  `${hostOf(timer) ?? timer.target.type} ${timer.reason ?? ""}`

const diedMs = ({ finishedAt, updatedAt }: Timer): number => Date.parse(finishedAt ?? updatedAt)

const groupOf = (key: string, timers: ReadonlyArray<Timer>): DeadGroup | undefined => {
  const [first] = timers
  if (first === undefined) return undefined
  const latest = timers.reduce((best, timer) => (diedMs(timer) > diedMs(best) ? timer : best), first)
  const host = hostOf(latest)
  const reason = latest.reason ?? ""
  const canFilter = host !== undefined && reasonWords.some((known) => known === reason)
  return {
    key,
    place: host?.replace(/:443$/, "") ?? latest.target.type,
    reason,
    timers,
    latest,
    filter: canFilter ? { host, reason } : undefined,
  }
}

/** With its port, because a filter by host without a port selects the timers of every port. */
const hostOf = ({ target }: Timer): string | undefined => {
  if (target.type !== "webhook" || !URL.canParse(target.url)) return undefined
  const { protocol, hostname, port } = new URL(target.url)
  return `${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`
}

const reasonTexts: Readonly<Record<string, string>> = {
  attemptsExhausted: "all attempts failed",
  durationExhausted: "out of time for attempts",
  expired: "expired before the first attempt",
  refused: "the receiver refused it",
  egressRefused: "the address is not allowed",
  invalidTarget: "the target is not valid",
}

export const reasonText = (reason: string | undefined): string =>
  reason === undefined || reason === "" ? "unknown reason" : (reasonTexts[reason] ?? reason)

/** How the last attempt failed, for example `answered 503 Service Unavailable`. */
export const errorText = ({ lastAttempt }: Timer): string | undefined =>
  lastAttempt?.error === undefined ? undefined : withStatusWords(lastAttempt.error)
