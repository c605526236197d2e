// Puts the rows of a partial run into the table of earlier runs. The whole tables of Isolation and Stores take twenty to forty
// minutes, and a machine is rarely quiet for so long. So scenes and stores can be measured a few at a time.
import type { Report, Row, Verdict } from "./Benchmark.ts"

/** What a file of results keeps of a report. */
export type KeptReport = Pick<Report, "rows" | "verdicts">

/** Rows of the new report replace those with the same name, and further ones follow. `order` has the names of all rows. */
export const mergeReports = (
  before: KeptReport,
  now: KeptReport,
  order: ReadonlyArray<string>,
): KeptReport => {
  const names = new Set(now.rows.map(({ name }) => name))
  const isReplaced = (verdict: Verdict) => [...names].some((name) => isAbout(verdict, name))
  const rows = [...before.rows.filter(({ name }) => !names.has(name)), ...now.rows]
  const verdicts = [...before.verdicts.filter((verdict) => !isReplaced(verdict)), ...now.verdicts]
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
  const rowOf = (verdict: Verdict): string => rows.find(({ name }) => isAbout(verdict, name))?.name ?? ""
  return {
    rows: rows.toSorted((one: Row, other: Row) => place(one.name) - place(other.name)),
    verdicts: verdicts.toSorted((one, other) => place(rowOf(one)) - place(rowOf(other))),
  }
}

/** The label of a verdict is the name of its row and a measure: `SQLite, crowd: p99`. Measures have no colon. */
const isAbout = ({ label }: Verdict, name: string): boolean =>
  label.slice(0, label.lastIndexOf(": ")) === name
