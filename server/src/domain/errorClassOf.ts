// The class of a failed attempt, by which lists find timers. An attempt keeps its status, or the text of its error. The
// deliverers build those texts from the beginnings here, so that a text and its class cannot drift apart.
import type { Attempt } from "./Timer.ts"

export type ErrorClass = "timeout" | "network" | "4xx" | "5xx"

/** How the texts of time-outs begin. */
export const timeoutTexts = {
  webhook: "no whole answer from",
  handler: "the handler took longer than",
} as const

/** How the texts of network errors begin. */
export const networkTexts = {
  refused: "connection refused",
  closed: "connection closed before a whole answer",
  notFound: "host not found",
  other: "network error",
} as const

const timeouts = Object.values(timeoutTexts)
const networks = Object.values(networkTexts)

/** Nothing for an attempt that succeeded, and for one that failed in another way. */
export const errorClassOf = ({ status, error }: Attempt): ErrorClass | undefined => {
  if (status !== undefined) {
    if (status >= 400 && status < 500) return "4xx"
    return status >= 500 && status < 600 ? "5xx" : undefined
  }
  if (error === undefined) return undefined
  if (timeouts.some((text) => error.startsWith(text))) return "timeout"
  return networks.some((text) => error.startsWith(text)) ? "network" : undefined
}
