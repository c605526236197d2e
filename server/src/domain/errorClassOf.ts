// The error class of a failed attempt, for filters of lists. An attempt keeps its status or its error text. The
// deliverers begin these texts with the constants here, so that texts and classes stay consistent.
import type { Attempt } from "./Timer.ts"

export type ErrorClass = "timeout" | "network" | "4xx" | "5xx"

/** The beginnings of error texts of timeouts. Stored attempts contain them: do not change them. */
export const timeoutTexts = {
  webhook: "no whole answer from",
  handler: "the handler took longer than",
  lookup: "no address in time for",
} as const

/** The beginnings of error texts of network errors. Stored attempts contain them: do not change them. */
export const networkTexts = {
  refused: "connection refused",
  closed: "connection closed before a whole answer",
  notFound: "host not found",
  other: "network error",
} as const

const timeouts = Object.values(timeoutTexts)
const networks = Object.values(networkTexts)

/** `undefined` for an attempt that succeeded or failed in another way. */
export const errorClassOf = ({ status, error }: Partial<Attempt>): ErrorClass | undefined => {
  if (status !== undefined) {
    if (status >= 400 && status < 500) return "4xx"
    return status >= 500 && status < 600 ? "5xx" : undefined
  }
  if (error === undefined) return undefined
  if (timeouts.some((text) => error.startsWith(text))) return "timeout"
  return networks.some((text) => error.startsWith(text)) ? "network" : undefined
}
