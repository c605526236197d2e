// Judges a store by its report alone. A problem is something that must never happen, whatever clients, targets and
// operators do. A remark is something that an operator should know.
import { formatDuration } from "@punctual/api/DurationMs"
import { formatInstant } from "@punctual/api/Instant"
import type { ServicePause } from "../../domain/NamespaceSettings.ts"
import { serviceRecord } from "../../engine/namespaces/SettingsRecords.ts"
import type { ShardReport, StoreReport, UnreadableRows } from "../../ports/StoreReport.ts"
import { countOf, countShown, spanShown } from "../frame/figures.ts"

export interface Diagnosis {
  readonly problems: ReadonlyArray<string>
  readonly remarks: ReadonlyArray<string>
}

/** A timer that is overdue by less than this may be just about to fire. */
export const overdueGraceMs = 60_000

/** With a larger offset, timers fire noticeably early or late by other clocks. */
const clockOffsetMostMs = 1_000

/** Checkpoints keep the log smaller than this, unless a long read holds them up. */
const logMostBytes = 512 * 1024 * 1024

export const diagnose = (report: StoreReport): Diagnosis => ({
  problems: [
    ...report.faults.map((fault) => `The store is damaged: ${fault}.`),
    ...report.unreadable.map(unreadableProblem),
    ...report.shards.flatMap(imbalances),
  ],
  remarks: remarksOn(report),
})

const unreadableProblem = ({ what, count, named }: UnreadableRows): string => {
  const rest = count > named.length ? `, and ${count - named.length} more` : ""
  const names = `${named.join(", ")}${rest}`
  switch (what) {
    case "settings":
      return `The settings of ${names} cannot be read. Until that is fixed, these namespaces are paused, but the service (${serviceRecord}) is not paused. Put their settings again, including secrets, and then resume them.`
    case "timers":
      return `${countOf(count, "pending timer")} cannot be read: ${names}. ${count === 1 ? "It does" : "They do"} not fire. All other timers do. ${repairAdvice}`
    case "lives":
      return `${countOf(count, "finished timer")} (history or dead letters) cannot be read: ${names}. ${count === 1 ? "It is" : "They are"} not listed and cannot be replayed. ${repairAdvice}`
  }
}

const repairAdvice =
  'Repair the text in the database, as the guide "Operate" describes, or restore the store from a backup.'

/**
 * Every arming that began is either pending or has ended exactly once. The service deletes old history, so there may be
 * fewer rows of delivered and cancelled timers than the tally says, but never more. A replayed dead letter counts as
 * dead in the tally, but its row is gone.
 */
const imbalances = ({ shard, tally, rows }: ShardReport): ReadonlyArray<string> => {
  const { begun, ended } = armings({ tally })
  const found: Array<string> = []
  const differ = (one: string, counted: number, summed: number) =>
    found.push(`Shard ${shard} has ${countOf(counted, one)}, but its tally says ${countShown(summed)}.`)
  if (rows.pending !== begun - ended) differ("pending timer", rows.pending, begun - ended)
  if (rows.dead !== tally.dead - tally.replayed) differ("dead letter", rows.dead, tally.dead - tally.replayed)
  if (rows.delivered > tally.delivered) differ("delivered timer", rows.delivered, tally.delivered)
  if (rows.cancelled > tally.cancelled) differ("cancelled timer", rows.cancelled, tally.cancelled)
  return found
}

/** How many armings began and ended by the tally. */
export const armings = ({ tally }: Pick<ShardReport, "tally">) => ({
  begun: tally.created + tally.rearmed + tally.replayed,
  ended: tally.delivered + tally.cancelled + tally.replaced + tally.dead + tally.discarded,
})

const remarksOn = (report: StoreReport): ReadonlyArray<string> => {
  const { schemaVersion, programVersion, overdue, clockOffsetMs = 0, pause, sizes } = report
  const remarks: Array<string> = []
  if (schemaVersion < programVersion) {
    remarks.push(
      `The schema has version ${schemaVersion}, and this program needs ${programVersion}: run punctual migrate, or start the service, to update it.`,
    )
  }
  if (pause !== undefined) remarks.push(pauseRemark(pause))
  if (overdue.count > 0) {
    const what = `${countOf(overdue.count, "timer")} ${overdue.count === 1 ? "is" : "are"} overdue`
    remarks.push(
      pause === undefined
        ? `${what} by more than ${formatDuration(overdueGraceMs)}: check that a service is running and can reach its targets. To see what a timer waits for: punctual explain NAMESPACE TIMER.`
        : `${what}, because firing is paused.`,
    )
  }
  if (Math.abs(clockOffsetMs) > clockOffsetMostMs) {
    remarks.push(
      `The clock of this machine is ${spanShown(Math.abs(clockOffsetMs))} ${clockOffsetMs > 0 ? "ahead of" : "behind"} the clock of the database: synchronize both with a time server.`,
    )
  }
  if (sizes.some(({ name, bytes }) => name === "log" && bytes > logMostBytes)) {
    remarks.push(
      "The log is large: a long read, such as an export or a backup, is running on the store or has been.",
    )
  }
  return remarks
}

const pauseRemark = ({ kind, sinceMs, reason }: ServicePause): string => {
  const since = formatInstant(sinceMs)
  return kind === "restored"
    ? `No timer fires: the store was ${reason ?? `restored from a backup of ${since}`}. Decide about the timers that became due since then: punctual restore --due-before now fire|dead|discard.`
    : `No timer fires: the service has been paused since ${since}${reason === undefined ? "" : ` (${reason})`}. To resume: punctual resume.`
}
