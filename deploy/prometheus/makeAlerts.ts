// Makes three files from alerts.ts: the rules that Prometheus loads, their tests for `promtool test rules`, and the
// runbooks. `bun deploy/prometheus/makeAlerts.ts` writes them. A test checks that they are up to date.
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Alert, alerts, type TestSeries } from "./alerts.ts"

const made = "Made by deploy/prometheus/makeAlerts.ts. Change alerts.ts instead."
const runbooks = "docs/guides/alerts.md"

/** JSON is YAML, so every text can be written as JSON. */
const quoted = (text: string): string => JSON.stringify(text)

export const rulesText = (): string =>
  [
    `# ${made}`,
    "groups:",
    "  - name: punctual",
    "    rules:",
    ...alerts.flatMap(({ name, expr, for: holds, severity, summary, meaning }) => [
      `      - alert: ${name}`,
      `        expr: ${quoted(expr)}`,
      `        for: ${holds}`,
      "        labels:",
      `          severity: ${severity}`,
      "        annotations:",
      `          summary: ${quoted(summary)}`,
      `          description: ${quoted(meaning)}`,
      `          runbook: ${quoted(`${runbooks}#${name.toLowerCase()}`)}`,
    ]),
    "",
  ].join("\n")

const stepSeconds = 15
/** When a test checks, in minutes. Alerts that must hold for long fire later. */
const checkedAt = ({ for: holds }: Alert, isFiring: boolean): ReadonlyArray<number> => {
  const isLong = ["30m", "1h"].includes(holds)
  if (isFiring) return [isLong ? 110 : 29]
  return isLong ? [10, 20, 60, 110] : [5, 10, 15, 20, 29]
}

const testOf = (alert: Alert, series: TestSeries, isFiring: boolean): ReadonlyArray<string> => [
  `  - interval: ${stepSeconds}s`,
  `    name: ${quoted(`${alert.name} ${isFiring ? "fires" : "is silent"}`)}`,
  "    input_series:",
  ...Object.entries(series).flatMap(([name, values]) => [
    `      - series: ${quoted(name)}`,
    `        values: ${quoted(values)}`,
  ]),
  // promtool compares the labels of the alerts that fire. A count of them needs no labels.
  "    promql_expr_test:",
  ...checkedAt(alert, isFiring).flatMap((minutes) => [
    `      - expr: ${quoted(`count(ALERTS{alertname="${alert.name}",alertstate="firing"}) > 0 or vector(0)`)}`,
    `        eval_time: ${minutes}m`,
    `        exp_samples: [{ labels: "{}", value: ${isFiring ? 1 : 0} }]`,
  ]),
]

export const testsText = (): string =>
  [
    `# ${made}`,
    "rule_files: [rules.yaml]",
    "evaluation_interval: 1m",
    "tests:",
    ...alerts.flatMap((alert) => [
      ...testOf(alert, alert.fires, true),
      ...testOf(alert, alert.silent, false),
    ]),
    "",
  ].join("\n")

const list = (lines: ReadonlyArray<string>): string => lines.map((line) => `- ${line}`).join("\n")

const runbookOf = (alert: Alert): string =>
  [
    `## ${alert.name}`,
    `Severity: ${alert.severity}. Holds for: ${alert.for}.`,
    `\`\`\`text\n${alert.expr}\n\`\`\``,
    `**Meaning.** ${alert.meaning}`,
    `**First look**\n\n${list(alert.firstLook)}`,
    `**Likely causes**\n\n${list(alert.causes)}`,
    `**What to do**\n\n${list(alert.whatToDo)}`,
  ].join("\n\n")

export const runbooksText = (): string =>
  `${[
    "# Alerts",
    "**Goal:** be told when something is wrong, and know what to do.",
    `<!-- ${made} -->`,
    "`deploy/prometheus/rules.yaml` has these alerts for Prometheus. Each has a section here: what it means, where to look first, likely causes, and what to do. No alert fires for a part that you do not use.",
    ["| alert | severity | says |", "| --- | --- | --- |", ...alerts.map(tableRow)].join("\n"),
    ...alerts.map(runbookOf),
  ].join("\n\n")}\n`

const tableRow = ({ name, severity, meaning }: Alert): string =>
  `| [${name}](#${name.toLowerCase()}) | ${severity} | ${meaning.split(/(?<=\.) /)[0]} |`

/** The files, by their paths from the root of the repository. */
export const alertFiles = (): Readonly<Record<string, string>> => ({
  "deploy/prometheus/rules.yaml": rulesText(),
  "deploy/prometheus/rules.test.yaml": testsText(),
  [runbooks]: runbooksText(),
})

if (import.meta.main) {
  for (const [path, text] of Object.entries(alertFiles()))
    writeFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), text)
}
