// `punctual audit`: who did what, as a table, or as JSON lines for another program.
import type { AuditRecord } from "@punctual/api/AuditRecord"
import { formatInstant } from "@punctual/api/Instant"
import { ListAuditAnswer } from "@punctual/api/ListAudit"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { listPages } from "../client/listPages.ts"
import { type CommandInput, callService, serviceFlags } from "../client/ServiceClient.ts"
import { type CommandRun, Output, type OutputClosed } from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import { textTable } from "../frame/textTable.ts"
import { instantFlag, textFlag } from "../timers/TimerFlags.ts"
import { pageFlags, whyNotPaging } from "../timers/timersList.ts"

export const auditCommand = (input: CommandInput) =>
  Command.make(
    "audit",
    {
      since: instantFlag("since", "Only records from this instant on"),
      until: instantFlag("until", "Only records before this instant"),
      action: textFlag("action", "CALL", "Only records of this call, such as namespaces.put or namespaces"),
      key: textFlag("key", "KEY", "Only records of the key with this id or label"),
      ...pageFlags,
      ...serviceFlags(input),
    },
    ({ since, until, action, key, limit, cursor, all, service, json }): CommandRun => {
      const wrong = whyNotPaging(["audit"], { all, limit, cursor })
      if (wrong !== undefined) return Effect.fail(wrong)
      const filter = {
        since: Option.getOrUndefined(since),
        until: Option.getOrUndefined(until),
        action: Option.getOrUndefined(action),
        key: Option.getOrUndefined(key),
        limit: Option.getOrUndefined(limit),
      }
      return listPages(
        {
          page: (from) =>
            callService(service, {
              path: "/audit/list",
              fields: { ...filter, cursor: from },
              answer: ListAuditAnswer,
            }).pipe(Effect.tap(({ value }) => tellUnreadable(value))),
          size: ({ records }) => records.length,
          lines: ({ text }) => recordLines(text),
          table: ({ value }) => textTable([tableHead, ...value.records.map(tableRow)]),
          none: "No audit records.",
          more: () => "There may be more",
        },
        { all, json, cursor },
      )
    },
  ).pipe(
    Command.withDescription(
      [
        "Show what operators did, newest first: when, who, from where, and what changed.",
        "  With --all --json each record is one line of JSON, for an archive or another program.",
      ].join("\n"),
    ),
    Command.withShortDescription("What operators did"),
    Command.withExamples([
      { command: "punctual audit" },
      { command: "punctual audit --action namespaces.put --since 2030-01-01T00:00:00Z" },
      { command: "punctual audit --all --json" },
    ]),
  )

const tellUnreadable = ({ unreadable = 0 }: ListAuditAnswer): Effect.Effect<void, OutputClosed, Output> =>
  unreadable === 0
    ? Effect.void
    : Effect.flatMap(Output, ({ remark }) =>
        remark(`${countOf(unreadable, "record is", "records are")} damaged and cannot be shown.`),
      )

const recordLines = (text: string): ReadonlyArray<string> => {
  const { records } = JSON.parse(text) as { readonly records: ReadonlyArray<unknown> }
  return records.map((record) => JSON.stringify(record))
}

const tableHead = ["AT", "ACTION", "CALLER", "ADDRESS", "COUNT", "WHAT"]

const tableRow = (record: AuditRecord): ReadonlyArray<string> => [
  formatInstant(record.at),
  record.action,
  record.keyId === undefined ? record.caller : `${record.caller} (${record.keyId})`,
  record.address ?? "-",
  record.count === undefined ? "-" : String(record.count),
  cut(whatOf(record)),
]

const whatOf = ({ outcome, about = {}, before = {}, after = {} }: AuditRecord): string => {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return [
    ...(outcome === "unknown" ? ["result unknown"] : []),
    ...Object.entries(about).map(([name, value]) => `${name} ${shown(value)}`),
    ...names.map((name) => `${name} ${shown(before[name])} → ${shown(after[name])}`),
  ].join(", ")
}

const shown = (value: unknown): string => {
  if (value === undefined) return "-"
  return typeof value === "string" ? value : JSON.stringify(value)
}

const whatCharsMax = 160

const cut = (text: string): string =>
  text.length <= whatCharsMax ? text : `${text.slice(0, whatCharsMax).toWellFormed()}…`
