/** What is the matter with a timer, in one or two sentences. It answers "did it fire?" and "why has it not fired?". */
import { durationText, relativeText } from "../../kit/times.ts"
import type { Timer } from "../api.ts"
import { statusText, withStatusWords } from "../statusWords.ts"
import { isOnlyStatus } from "./moments.ts"

export interface Summary {
  readonly tone: "neutral" | "accent" | "good" | "warning" | "bad"
  readonly title: string
  readonly text: string
}

const waitingTitles: Readonly<Record<string, string>> = {
  paused: "Its namespace is paused",
  servicePaused: "All firing is paused",
  breaker: "Its host failed too often in a row",
  congested: "Too many deliveries are already running",
  egressRefused: "The service may not call its address",
  noSubscriber: "Nobody receives it",
  sealed: "Its webhook secrets cannot be opened",
}

const deathTitles: Readonly<Record<string, string>> = {
  attemptsExhausted: "All attempts failed",
  durationExhausted: "It could not be delivered in the time allowed",
  expired: "It expired before an attempt could start",
  refused: "The receiver refused it",
  egressRefused: "The service was not allowed to call its address",
  invalidTarget: "Its target is not valid",
}

const failureOf = ({ lastAttempt }: Timer): string => {
  if (lastAttempt === undefined) return ""
  return isOnlyStatus(lastAttempt)
    ? `The receiver answered ${statusText(lastAttempt.status ?? 0)}.`
    : withStatusWords(lastAttempt.error ?? "")
}

const sentence = (text: string): string => {
  const begun = text.charAt(0).toUpperCase() + text.slice(1)
  return begun === "" || /[.!?]$/.test(begun) ? begun : `${begun}.`
}

/** `isPaused`: its namespace is paused, so it will wait when it is due. */
export const summaryOf = (timer: Timer, nowMs: number, isPaused = false): Summary => {
  switch (timer.state) {
    case "pending":
      return pendingSummary(timer, nowMs, isPaused)
    case "inFlight":
      return {
        tone: "accent",
        title: "An attempt is running",
        text:
          timer.attemptStartedAt === undefined
            ? `Attempt ${timer.attempts + 1} is running.`
            : `Attempt ${timer.attempts + 1} began ${relativeText(Date.parse(timer.attemptStartedAt), nowMs)}.`,
      }
    case "delivered":
      return {
        tone: "good",
        title: "Delivered",
        text: `${timer.attempts <= 1 ? "The first attempt succeeded" : `Attempt ${timer.attempts} succeeded`}${
          timer.latenessMs === undefined ? "" : `, ${durationText(timer.latenessMs)} after the due time`
        }.`,
      }
    case "cancelled":
      return {
        tone: "neutral",
        title: "Cancelled",
        text: timer.reason === "expired" ? "It expired, and its rule was to drop it." : "It will not fire.",
      }
    case "dead":
      return {
        tone: "bad",
        title: deathTitles[timer.reason ?? ""] ?? "It could not be delivered",
        text: `${sentence(failureOf(timer))} It is a dead letter: replay it to try again, or discard it.`.trim(),
      }
  }
}

const pendingSummary = (timer: Timer, nowMs: number, isPaused: boolean): Summary => {
  const { waiting, fireAt = timer.executeAt, attempts } = timer
  if (waiting !== undefined) {
    return {
      tone: "warning",
      title: waitingTitles[waiting.reason] ?? "It waits",
      text: sentence(waiting.detail),
    }
  }
  const due = relativeText(Date.parse(fireAt), nowMs)
  if (attempts > 0) {
    return {
      tone: "warning",
      title: `Attempt ${attempts} failed, the next is due ${due}`,
      text: sentence(failureOf(timer)),
    }
  }
  if (isPaused) return { tone: "warning", title: `It is due ${due}`, text: "" }
  return Date.parse(fireAt) > nowMs
    ? { tone: "neutral", title: `It is due ${due}`, text: "Nothing is wrong: its time has not come." }
    : { tone: "accent", title: "It is due now", text: "The service is about to start the first attempt." }
}
