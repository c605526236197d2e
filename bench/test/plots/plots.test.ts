// Plots are text that browsers draw. They must be well formed for any measurement.
import { expect, test } from "bun:test"
import { percentilePlot } from "../../src/plots/percentilePlot.ts"
import { scalePlot } from "../../src/plots/scalePlot.ts"

const mustBeDrawable = (svg: string): void => {
  expect(svg).toStartWith("<svg")
  expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  const opened = svg.match(/<[a-z][^>]*[^/]>|<[a-z]>/g)?.length ?? 0
  const closed = svg.match(/<\/[a-z]+>/g)?.length ?? 0
  expect(opened).toBe(closed)
}

test("lateness from zero to hours is drawn", () => {
  const latenessMs = Array.from({ length: 1_000 }, (_, index) => index * 10)
  mustBeDrawable(
    percentilePlot("a & b <c>", "how late", [
      { name: "some", latenessMs, isMain: true },
      { name: "none late", latenessMs: Array.from({ length: 50 }, () => 0), isMain: false },
      { name: "few", latenessMs: [7_200_000], isMain: false },
    ]),
  )
})

test("a measure that is missing at a level leaves a gap", () => {
  mustBeDrawable(
    scalePlot("creates", "by pending", "a second", [
      {
        name: "SQLite",
        isSecond: false,
        values: [
          [10_000, 12_000],
          [100_000, Number.NaN],
          [1_000_000, 6_000],
        ],
      },
    ]),
  )
})
