// What is wrong with a store, and what an operator should know of it though nothing is wrong: judged from its report
// alone. Wrong is only what must never be, whatever clients, targets and operators do.
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

/** Overdue by no more than this, a timer may simply be about to fire. */
export const overdueGraceMs = 60_000

/** Beyond this, timers fire noticeably early or late by the clocks of others. */
const clockOffsetMostMs = 1_000

/** A log that is much larger than a checkpoint leaves it is held up by someone who reads. */
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
      return `The settings of ${names} cannot be read: these namespaces count as paused, and the service (${serviceRecord}) as not paused. Set their settings anew, secrets included, and then resume them.`
    case "timers":
      return `${countOf(count, "pending timer")} cannot be read: ${names}. ${count === 1 ? "It does" : "They do"} not fire, and all others do. ${repairAdvice}`
    case "lives":
      return `${countOf(count, "finished life", "finished lives")} (history or dead letters) cannot be read: ${names}. ${count === 1 ? "It is" : "They are"} not listed, and cannot be replayed. ${repairAdvice}`
  }
}

const repairAdvice =
  'Repair the text in the database, as the guide "Operate" describes, or restore the store from a backup.'

/**
 * Conservation: every arming that began is pending or has ended, once. Lives that were delivered or cancelled are
 * pruned after a time, so that there may be fewer rows of them than were counted, but never more. A dead letter that
 * was replayed ended dead all the same, but is no letter any more.
 */
const imbalances = ({ shard, tally, rows }: ShardReport): ReadonlyArray<string> => {
  const { begun, ended } = armings({ tally })
  const found: Array<string> = []
  const differ = (one: string, counted: number, summed: number) =>
    found.push(`Shard ${shard} has ${countOf(counted, one)}, and ${countShown(summed)} by its tally.`)
  if (rows.pending !== begun - ended) differ("pending timer", rows.pending, begun - ended)
  if (rows.dead !== tally.dead - tally.replayed) differ("dead letter", rows.dead, tally.dead - tally.replayed)
  if (rows.delivered > tally.delivered) differ("delivered timer", rows.delivered, tally.delivered)
  if (rows.cancelled > tally.cancelled) differ("cancelled timer", rows.cancelled, tally.cancelled)
  return found
}

/** How many armings began and ended, by the tally. */
export const armings = ({ tally }: Pick<ShardReport, "tally">) => ({
  begun: tally.created + tally.rearmed + tally.replayed,
  ended: tally.delivered + tally.cancelled + tally.replaced + tally.dead + tally.discarded,
})

const remarksOn = (report: StoreReport): ReadonlyArray<string> => {
  const { schemaVersion, programVersion, overdue, clockOffsetMs = 0, pause, sizes } = report
  const remarks: Array<string> = []
  if (schemaVersion < programVersion) {
    remarks.push(
      `The schema is of version ${schemaVersion}, and this program writes ${programVersion}: punctual migrate, or a start of the service, brings it up to date.`,
    )
  }
  if (pause !== undefined) remarks.push(pauseRemark(pause))
  if (overdue.count > 0) {
    const what = `${countOf(overdue.count, "timer")} ${overdue.count === 1 ? "is" : "are"} overdue`
    remarks.push(
      pause === undefined
        ? `${what} by more than ${formatDuration(overdueGraceMs)}: is a service running, can it reach its targets?`
        : `${what}, because nothing fires.`,
    )
  }
  if (Math.abs(clockOffsetMs) > clockOffsetMostMs) {
    remarks.push(
      `The clock of this machine is ${spanShown(Math.abs(clockOffsetMs))} ${clockOffsetMs > 0 ? "ahead of" : "behind"} the database's: set both by a time server.`,
    )
  }
  if (sizes.some(({ name, bytes }) => name === "log" && bytes > logMostBytes)) {
    remarks.push(
      "The log is large: something reads the store for long, an export or a backup perhaps, or has been doing so.",
    )
  }
  return remarks
}

const pauseRemark = ({ kind, sinceMs, reason }: ServicePause): string => {
  const since = formatInstant(sinceMs)
  return kind === "restored"
    ? `Nothing fires: the store was ${reason ?? `restored from a backup of ${since}`}. Say what becomes of what has fallen due since: punctual restore --due-before now fire|dead|discard.`
    : `Nothing fires: the service is paused since ${since}${reason === undefined ? "" : ` (${reason})`}. To go on: punctual resume.`
}
