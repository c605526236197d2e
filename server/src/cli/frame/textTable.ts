// A table for people: columns as wide as their widest cell, whatever the script it is in.
import { CliOutput } from "effect/cli"
import { printable } from "./CommandRuntime.ts"

/** The first row is the head. Nothing in a cell reaches the terminal as a command to it. */
export const textTable = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const cells = rows.map((row) => row.map(printable))
  const widths = (cells[0] ?? []).map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, CliOutput.displayWidth(row[column] ?? "")), 0),
  )
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - CliOutput.displayWidth(cell)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
