// The findings of `punctual doctor`, as text for people and as JSON for programs.
import { formatInstant } from "@punctual/api/Instant"
import { emptyTally, type Tally } from "../../domain/Decision.ts"
import type { ShardRows, StoreReport } from "../../ports/StoreReport.ts"
import { bytesShown, countOf, countShown, spanShown } from "../frame/figures.ts"
import { textTable } from "../frame/textTable.ts"
import { armings, type Diagnosis } from "./diagnosis.ts"

export interface Examined {
  readonly place: string
  readonly nowMs: number
  readonly report: StoreReport
  readonly diagnosis: Diagnosis
}

export const doctorText = (examined: Examined): string => {
  const { place, report, diagnosis } = examined
  return [
    textTable([
      ["Store", place],
      ["Schema", schemaShown(report)],
      ["Sizes", report.sizes.map(({ name, bytes }) => `${name} ${bytesShown(bytes)}`).join(", ")],
      ...countLines(report),
      ["Structure", structureShown(report)],
      ...clockLine(report),
    ]),
    ...overdueLines(examined),
    ...deadLines(report),
    ...section("Problems:", diagnosis.problems),
    ...section("Remarks:", diagnosis.remarks),
    "",
    diagnosis.problems.length === 0 ? "The store has no problems." : "The store has problems.",
  ].join("\n")
}

/** Times are strings and figures are numbers. Problems and remarks are the same sentences as in the text. */
export const doctorJson = ({ place, nowMs, report, diagnosis }: Examined): string => {
  const {
    store,
    schemaVersion,
    programVersion,
    shards,
    sizes,
    overdue,
    pause,
    sealed,
    targets: _,
    ...rest
  } = report
  return JSON.stringify(
    {
      store: { kind: store, place },
      at: formatInstant(nowMs),
      isWell: diagnosis.problems.length === 0,
      problems: diagnosis.problems,
      remarks: diagnosis.remarks,
      schema: { version: schemaVersion, ofProgram: programVersion },
      counts: totalRows(report),
      tally: totalTally(report),
      sizes: Object.fromEntries(sizes.map(({ name, bytes }) => [name, bytes])),
      overdue: {
        count: overdue.count,
        // The answers of receivers are left out, because people share this output.
        worst: overdue.worst.map(({ fireAt, lastAttempt, ...timer }) => ({
          ...timer,
          fireAt: formatInstant(fireAt),
          lateMs: nowMs - fireAt,
          ...(lastAttempt === undefined
            ? {}
            : { lastAttempt: { ...lastAttempt, at: formatInstant(lastAttempt.at), answer: undefined } }),
        })),
      },
      ...rest,
      ...(pause === undefined
        ? {}
        : { pause: { ...pause, sinceMs: undefined, since: formatInstant(pause.sinceMs) } }),
      ...(sealed === undefined ? {} : { namespacesWithSecrets: sealed.namespaces }),
      shards,
    },
    undefined,
    2,
  )
}

const schemaShown = ({ schemaVersion, programVersion }: StoreReport): string =>
  schemaVersion === programVersion
    ? `version ${schemaVersion}, the same as this program`
    : `version ${schemaVersion}; this program needs ${programVersion}`

const countLines = (report: StoreReport): ReadonlyArray<ReadonlyArray<string>> => {
  const rows = totalRows(report)
  const tally = totalTally(report)
  const { begun, ended } = armings({ tally })
  return [
    ["Shards", countShown(report.shards.length)],
    ["Pending", countShown(rows.pending)],
    ["History", `${countShown(rows.delivered)} delivered, ${countShown(rows.cancelled)} cancelled`],
    ["Dead", countShown(rows.dead)],
    [
      "Armings",
      `${countShown(begun)} begun (${partsShown(tally, ["created", "rearmed", "replayed"])}), ` +
        `${countShown(ended)} ended (${partsShown(tally, ["delivered", "cancelled", "replaced", "dead", "discarded"])})`,
    ],
  ]
}

const partsShown = (tally: Tally, names: ReadonlyArray<keyof Tally>): string =>
  names.map((name) => `${countShown(tally[name])} ${name === "rearmed" ? "re-armed" : name}`).join(", ")

const structureShown = ({ integrity, faults }: StoreReport): string => {
  if (integrity === "notChecked") return "not checked: the database server does that"
  const found = faults.length === 0 ? "sound" : countOf(faults.length, "fault")
  return `${found}, by ${integrity === "full" ? "a full" : "a quick"} check`
}

const clockLine = ({ clockOffsetMs }: StoreReport): ReadonlyArray<ReadonlyArray<string>> =>
  clockOffsetMs === undefined
    ? []
    : [
        [
          "Clock",
          `${spanShown(Math.abs(clockOffsetMs))} ${clockOffsetMs < 0 ? "behind" : "ahead of"} the clock of the database`,
        ],
      ]

const overdueLines = ({ nowMs, report: { overdue } }: Examined): ReadonlyArray<string> =>
  overdue.count === 0
    ? []
    : [
        "",
        `Overdue: ${countShown(overdue.count)}. The worst:`,
        textTable([
          ["NAMESPACE", "TIMER", "DUE", "LATE", "ATTEMPTS", "LAST ERROR"],
          ...overdue.worst.map(({ namespace, timerId, fireAt, attempts, lastAttempt }) => [
            namespace,
            timerId,
            formatInstant(fireAt),
            spanShown(nowMs - fireAt),
            String(attempts),
            lastAttempt?.error ?? (lastAttempt?.status === undefined ? "-" : `status ${lastAttempt.status}`),
          ]),
        ]),
      ]

const deadLines = ({ deadByNamespace }: StoreReport): ReadonlyArray<string> =>
  deadByNamespace.length === 0
    ? []
    : [
        "",
        "Dead letters:",
        textTable([
          ["NAMESPACE", "COUNT"],
          ...deadByNamespace.map(({ namespace, count }) => [namespace, countShown(count)]),
        ]),
      ]

const section = (head: string, sentences: ReadonlyArray<string>): ReadonlyArray<string> =>
  sentences.length === 0 ? [] : ["", head, ...sentences.map((sentence) => `  ${sentence}`)]

const totalRows = ({ shards }: StoreReport): ShardRows =>
  shards.reduce<ShardRows>(
    (sum, { rows }) => ({
      pending: sum.pending + rows.pending,
      delivered: sum.delivered + rows.delivered,
      cancelled: sum.cancelled + rows.cancelled,
      dead: sum.dead + rows.dead,
    }),
    { pending: 0, delivered: 0, cancelled: 0, dead: 0 },
  )

const totalTally = ({ shards }: StoreReport): Tally =>
  shards.reduce<Tally>(
    (sum, { tally }) => ({
      created: sum.created + tally.created,
      rearmed: sum.rearmed + tally.rearmed,
      replayed: sum.replayed + tally.replayed,
      delivered: sum.delivered + tally.delivered,
      cancelled: sum.cancelled + tally.cancelled,
      replaced: sum.replaced + tally.replaced,
      dead: sum.dead + tally.dead,
      discarded: sum.discarded + tally.discarded,
    }),
    emptyTally,
  )
