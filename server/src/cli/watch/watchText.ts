// The texts of `punctual watch`: a view that is redrawn at each turn, and lines that are written once.
import { formatInstant } from "@punctual/api/Instant"
import { CliOutput } from "effect/cli"
import { printable } from "../frame/CommandRuntime.ts"
import { spanShown } from "../frame/figures.ts"
import { textTable } from "../frame/textTable.ts"
import { dueAt, type Snapshot, type WatchedChange, type WatchedTimer } from "./WatchPoll.ts"

const kindWords: Readonly<Record<WatchedChange["kind"], string>> = {
  delivered: "delivered",
  cancelled: "cancelled",
  dead: "dead",
  retry: "retry",
  inFlight: "in flight",
}

const dueShown = 6
const outcomesShown = 8

export const changeText = ({ kind, timer }: WatchedChange): string =>
  printable(
    [
      formatInstant(changedAt(kind, timer)),
      kindWords[kind].padEnd(9),
      keyText(timer),
      ...factsOf(kind, timer),
    ].join("  "),
  )

export const changeJson = ({ kind, timer }: WatchedChange): string => {
  const { namespace, timerId, fireId, attempts, latenessMs, reason, lastAttempt, fireAt } = timer
  return JSON.stringify({
    change: kind,
    at: formatInstant(changedAt(kind, timer)),
    namespace,
    timerId,
    fireId,
    attempts,
    latenessMs,
    reason,
    status: lastAttempt?.status,
    error: lastAttempt?.error,
    fireAt: fireAt === undefined ? undefined : formatInstant(fireAt),
  })
}

/** The whole view. `latest` has the changes so far, the latest first. No line is wider than the terminal. */
export const viewLines = (
  url: string,
  { nowMs, pause, namespaces, hasMore, hidden, due }: Snapshot,
  latest: ReadonlyArray<WatchedChange>,
  columns: number,
): ReadonlyArray<string> => {
  const inFlight = due.filter(({ state }) => state === "inFlight").length
  const paused = pause === undefined ? "" : `  PAUSED since ${formatInstant(pause.since)}`
  const lines = [
    `Punctual at ${url}  ${formatInstant(nowMs)}${paused}  (press Ctrl-C to stop)`,
    "",
    ...(namespaces.length === 0
      ? ["No namespaces."]
      : textTable([
          ["NAMESPACE", "PENDING", "DEAD", "FIRING"],
          ...namespaces.map(({ namespace, pending, dead, paused: isPaused }) => [
            namespace,
            countText(pending),
            countText(dead),
            isPaused === undefined ? "?" : isPaused ? "paused" : "yes",
          ]),
        ]).split("\n")),
    ...(hasMore ? ["The service has more namespaces: choose some with --namespace."] : []),
    ...hidden,
    "",
    `Due next${inFlight === 0 ? "" : `, ${inFlight} in flight`}:`,
    ...(due.length === 0
      ? ["  nothing"]
      : due.slice(0, dueShown).map((timer) => `  ${dueText(timer, nowMs)}`)),
    "",
    "Latest:",
    ...(latest.length === 0
      ? ["  nothing yet"]
      : latest.slice(0, outcomesShown).map((change) => `  ${changeText(change)}`)),
  ]
  return lines.map((line) => cut(printable(line), columns - 1))
}

/** The view while the service does not answer. */
export const awayLines = (url: string, message: string, columns: number): ReadonlyArray<string> =>
  [`Punctual at ${url} does not answer; retrying (press Ctrl-C to stop)`, message].map((line) =>
    cut(printable(line), columns - 1),
  )

const dueText = (timer: WatchedTimer, nowMs: number): string => {
  const inMs = dueAt(timer) - nowMs
  const when =
    timer.state === "inFlight"
      ? "in flight"
      : inMs >= 0
        ? `in ${spanShown(inMs)}`
        : `overdue by ${spanShown(-inMs)}`
  const tried = timer.attempts === 0 ? "" : `  attempts ${timer.attempts}`
  return `${when.padEnd(22)}  ${keyText(timer)}${tried}`
}

const factsOf = (kind: WatchedChange["kind"], timer: WatchedTimer): ReadonlyArray<string> => {
  const { attempts, latenessMs, reason, lastAttempt, fireAt } = timer
  const error = lastAttempt?.error
  switch (kind) {
    case "delivered":
      return [
        `attempts ${attempts}`,
        ...(latenessMs === undefined ? [] : [`late by ${spanShown(latenessMs)}`]),
      ]
    case "dead":
      return [`attempts ${attempts}`, ...[reason, error].filter((part) => part !== undefined)]
    case "retry":
      return [
        `attempts ${attempts}`,
        ...(fireAt === undefined ? [] : [`next at ${formatInstant(fireAt)}`]),
        ...(error === undefined ? [] : [error]),
      ]
    case "inFlight":
      return [`attempt ${attempts + 1}`]
    case "cancelled":
      return []
  }
}

const changedAt = (kind: WatchedChange["kind"], timer: WatchedTimer): number =>
  timer.finishedAt ?? (kind === "retry" ? (timer.lastAttempt?.at ?? dueAt(timer)) : dueAt(timer))

const keyText = ({ namespace, timerId }: WatchedTimer): string => `${namespace}/${timerId}`

const countText = ({ count, capped }: Snapshot["namespaces"][number]["pending"]): string =>
  capped ? `${count} or more` : String(count)

/** Shortens a line to the width of the terminal. */
const cut = (line: string, width: number): string => {
  if (CliOutput.displayWidth(line) <= width) return line
  let kept = ""
  for (const character of line) {
    if (CliOutput.displayWidth(kept + character) > width - 1) break
    kept += character
  }
  return `${kept}…`
}
