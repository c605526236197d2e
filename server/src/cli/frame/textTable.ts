// A table for people: each column is as wide as its widest cell, also with wide characters.
import { CliOutput } from "effect/cli"
import { printable } from "./CommandRuntime.ts"

/** The first row is the header. Control characters in cells are escaped. */
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
