// The results of a run as Markdown, to print and to store.
import type { Benchmark, Report, Verdict } from "./Benchmark.ts"
import { type Surroundings, surroundingsText } from "./Surroundings.ts"

export const headText = (surroundings: Surroundings): string => {
  const { isQuick, withPeers } = surroundings
  return [
    `# Punctual${withPeers ? ", its peers" : ""} and the bare limits`,
    "",
    ...(isQuick
      ? [
          "**A smoke run with very little work. It shows that everything runs. Its figures are not valid results.**",
          "",
        ]
      : []),
    surroundingsText(surroundings),
    "",
    "",
  ].join("\n")
}

export const reportText = (
  { id, title, note }: Pick<Benchmark, "id" | "title" | "note">,
  { rows, verdicts }: Report,
): string => {
  const hasTerms = rows.some(({ terms }) => terms !== undefined)
  return [
    `## ${id}: ${title}`,
    "",
    ...(note === undefined ? [] : [note, ""]),
    line(["side", "median (lowest to highest)", ...(hasTerms ? ["terms"] : [])]),
    line(["---", "---", ...(hasTerms ? ["---"] : [])]),
    ...rows.map(({ name, values, terms = "" }) => line([name, values, ...(hasTerms ? [terms] : [])])),
    "",
    ...(verdicts.length === 0
      ? []
      : [line(["measure", "value", "target", ""]), line(["---", "---", "---", "---"])]),
    ...verdicts.map((verdict) =>
      line([verdict.label, verdict.value, verdict.target ?? "", judgement(verdict)]),
    ),
    "",
    "",
  ].join("\n")
}

const judgement = ({ isReached }: Verdict): string => {
  if (isReached === undefined) return ""
  return isReached ? "reached" : "**missed**"
}

const line = (cells: ReadonlyArray<string>): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ")).join(" | ")} |`
