// Lateness by percentile, a line for each system, on logarithmic axes: what an average would hide is what matters here.
// Plain SVG that follows the reader's light or dark setting.
import { percentile } from "../Benchmark.ts"

export interface Series {
  readonly name: string
  readonly latenessMs: ReadonlyArray<number>
}

const width = 860
const height = 420
const left = 70
const right = 250
const top = 50
const bottom = 50
const fractions = [0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999]
const ticks = [0.5, 0.9, 0.99, 0.999, 0.9999]
const leastMs = 0.5

const colors = ["#e4572e", "#17a2a2", "#7a5195", "#2e86de", "#bc8f00", "#5d9732", "#d45087", "#8d8d8d"]

/** Each step to the right leaves a tenth of what was left. */
const x = (fraction: number): number => left + ((width - left - right) * -Math.log10(1 - fraction)) / 4

export const percentilePlot = (title: string, series: ReadonlyArray<Series>): string => {
  const highestMs = Math.max(10, ...series.map(({ latenessMs }) => percentile(latenessMs, 1)))
  const decades = Math.ceil(Math.log10(highestMs / leastMs))
  const y = (ms: number): number =>
    height - bottom - ((height - top - bottom) * Math.log10(Math.max(ms, leastMs) / leastMs)) / decades
  const grid = Array.from({ length: decades + 1 }, (_, decade) => leastMs * 10 ** decade)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<style>text{fill:#222}.grid{stroke:#ddd}.line{fill:none;stroke-width:2}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}}</style>`,
    `<title>${escaped(title)}</title>`,
    `<text x="${left}" y="24" font-size="16" font-weight="600">${escaped(title)}</text>`,
    ...grid.map(
      (ms) =>
        `<line class="grid" x1="${left}" x2="${width - right}" y1="${y(ms)}" y2="${y(ms)}"/>` +
        `<text x="${left - 8}" y="${y(ms) + 4}" text-anchor="end">${durationText(ms)}</text>`,
    ),
    ...ticks.map(
      (fraction) =>
        `<text x="${x(fraction)}" y="${height - bottom + 22}" text-anchor="middle">p${+(fraction * 100).toFixed(2)}</text>`,
    ),
    ...series.flatMap(({ name, latenessMs }, index) => {
      const color = colors[index % colors.length]
      // A percentile of which there are fewer than a few timers says nothing.
      const points = fractions
        .filter((fraction) => (1 - fraction) * latenessMs.length >= 3)
        .map((fraction) => `${x(fraction).toFixed(1)},${y(percentile(latenessMs, fraction)).toFixed(1)}`)
      const labelY = top + 14 + index * 22
      return [
        `<polyline class="line" stroke="${color}" points="${points.join(" ")}"/>`,
        `<line stroke="${color}" stroke-width="3" x1="${width - right + 20}" x2="${width - right + 44}" y1="${labelY - 4}" y2="${labelY - 4}"/>`,
        `<text x="${width - right + 52}" y="${labelY}">${escaped(name)}</text>`,
      ]
    }),
    "</svg>",
    "",
  ].join("\n")
}

const durationText = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`)

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
