/** What a call is and what became of it, in words. All functions are pure. */
import type { Tone } from "../kit/Badge.tsx"
import { durationText, relativeText } from "../kit/times.ts"
import type { Call } from "./agentApi.ts"
import { statusTones } from "./StatusBadge.tsx"

const finalStatuses: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Cancelled"])

export const isFinished = ({ status }: Call): boolean => finalStatuses.has(status)

export const canCancel = ({ status }: Call): boolean => status === "Submitted" || status === "Scheduled"

export const canMove = ({ status }: Call): boolean => status === "Scheduled"

/** How long the request took. Undefined until it has ended. */
export const durationMsOf = ({ response, error, startedAt, finishedAt }: Call): number | undefined => {
  const latencyMs = response?.latencyMs ?? error?.latencyMs
  if (latencyMs !== undefined) return latencyMs
  return startedAt === undefined || finishedAt === undefined
    ? undefined
    : Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt))
}

/** From the time at which the request should have been sent to the time at which it was. */
export const latenessMsOf = ({ dueAt, submittedAt, runningAt, startedAt }: Call): number | undefined => {
  const sentAt = startedAt ?? runningAt
  if (sentAt === undefined) return undefined
  // A call that was due before it was submitted was due at once.
  const wantedMs = Math.max(Date.parse(dueAt), Date.parse(submittedAt))
  return Math.max(0, Date.parse(sentAt) - wantedMs)
}

/** `/invoices`: the part of the URL after its host. */
export const pathOf = ({ url, host }: Pick<Call, "url" | "host">): string => {
  const at = url.indexOf(host)
  return at < 0 ? url : url.slice(at + host.length)
}

const errorWords: Readonly<Record<NonNullable<Call["error"]>["kind"], string>> = {
  status: "The service answered with an error",
  timeout: "The service did not answer in time",
  network: "The service could not be reached",
  egressRefused: "The rules of the operator do not allow this address",
  outcomeUnknown: "It is not known whether the request was carried out",
}

export interface CallSummary {
  readonly tone: Tone
  readonly title: string
  readonly text: string
}

export const summaryOfCall = (call: Call, nowMs: number): CallSummary => {
  const tone = statusTones[call.status]
  const lateness = latenessMsOf(call)
  const sent =
    lateness === undefined ? "" : `The request was sent ${durationText(lateness)} after its due time.`
  const took = durationMsOf(call)
  switch (call.status) {
    case "Submitted":
      return { tone, title: "It was accepted", text: "The agent is about to schedule it." }
    case "Scheduled":
      return {
        tone,
        title: `It is due ${relativeText(Date.parse(call.dueAt), nowMs)}`,
        text: "Until then it can be cancelled or moved.",
      }
    case "Running":
      return { tone, title: "The request is on its way", text: sent }
    case "Succeeded":
      return {
        tone,
        title: `It succeeded with ${call.response?.status ?? "a good answer"}`,
        text: `${sent}${took === undefined ? "" : ` The answer came within ${durationText(took)}.`}`.trim(),
      }
    case "Cancelled":
      return { tone, title: "It was cancelled", text: "The request was never made, and never will be." }
    case "Failed":
      return {
        tone,
        title: call.error === undefined ? "It failed" : `${errorWords[call.error.kind]}`,
        text: `${call.error === undefined ? "" : `${sentence(call.error.message)} `}${sent}`.trim(),
      }
  }
}

/** Messages of errors begin small and have no full stop. */
const sentence = (text: string): string => {
  const trimmed = text.trim().replace(/\.$/, "")
  return trimmed === "" ? "" : `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}.`
}
