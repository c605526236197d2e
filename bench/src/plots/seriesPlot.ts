// The measures of a long run, each in its own panel that starts at zero, so that a reader sees at once whether a measure
// grows. The two quarters whose medians are compared are shaded. The colours are those of the other charts.
import { flatness, type Growth, type Sample } from "../soak/Sample.ts"
import { escaped, fonts, styles } from "./chart.ts"

const width = 920
const panelHeight = 92
const left = 196
const right = 96
const top = 84
const bottom = 56
/** The space between the top of a panel and the highest point of its line. */
const headroom = 20
const color = "#2f81f7"
const growsColor = "#e8590c"

export const seriesPlot = (title: string, samples: ReadonlyArray<Sample>): string => {
  const measures = flatness(samples)
  const height = top + measures.length * panelHeight + bottom
  const minutes = Math.max(0.1, samples.at(-1)?.minute ?? 0)
  const x = (minute: number) => left + ((width - left - right) * minute) / minutes
  const floor = height - bottom
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="${fonts}" font-size="13">`,
    styles,
    `<title>${escaped(title)}</title>`,
    `<text class="title" x="24" y="34" font-size="19" font-weight="600">${escaped(title)}</text>`,
    `<text x="24" y="57">a sample every ten seconds; the medians of the shaded quarters are compared</text>`,
    ...[0.25, 0.75].map(
      (from) =>
        `<rect x="${fixed(x(minutes * from))}" y="${top}" width="${fixed((x(minutes) - x(0)) / 4)}" height="${floor - top}" fill="#8b949e" fill-opacity="0.1"/>`,
    ),
    ...measures.map((measure, index) => panel(samples, measure, { x, top: top + index * panelHeight })),
    ...minuteTicks(minutes).map(
      (minute) =>
        `<line class="grid" x1="${fixed(x(minute))}" x2="${fixed(x(minute))}" y1="${top}" y2="${floor + 5}"/>` +
        `<text x="${fixed(x(minute))}" y="${floor + 22}" text-anchor="middle">${minute}</text>`,
    ),
    `<text x="${fixed((left + width - right) / 2)}" y="${height - 12}" text-anchor="middle">minutes</text>`,
    "</svg>",
    "",
  ].join("\n")
}

interface Placing {
  readonly x: (minute: number) => number
  readonly top: number
}

const panel = (
  samples: ReadonlyArray<Sample>,
  { measure, name, growth, isFlat }: Growth,
  { x, top: panelTop }: Placing,
): string => {
  const floor = panelTop + panelHeight
  const highest = Math.max(1, ...samples.map((sample) => sample[measure]))
  const y = (value: number) => floor - ((panelHeight - headroom) * value) / highest
  const points = samples.map((sample) => `${fixed(x(sample.minute))},${fixed(y(sample[measure]))}`)
  const first = x(samples.at(0)?.minute ?? 0)
  const last = x(samples.at(-1)?.minute ?? 0)
  const stroke = isFlat ? color : growsColor
  const growthText = Number.isFinite(growth) ? `× ${growth.toFixed(2)}` : ""
  return [
    `<line class="grid" x1="${left}" x2="${width - right}" y1="${floor}" y2="${floor}"/>`,
    `<polygon fill="${stroke}" fill-opacity="0.14" points="${fixed(first)},${floor} ${points.join(" ")} ${fixed(last)},${floor}"/>`,
    `<polyline fill="none" stroke="${stroke}" stroke-width="2" stroke-linejoin="round" points="${points.join(" ")}"/>`,
    `<text class="title" x="24" y="${floor - 30}" font-weight="600">${escaped(name)}</text>`,
    `<text x="${left - 8}" y="${fixed(y(highest) + 4)}" text-anchor="end">${valueText(highest)}</text>`,
    `<text x="${left - 8}" y="${floor - 2}" text-anchor="end">0</text>`,
    `<text x="${width - right + 10}" y="${floor - 38}"><tspan fill="${stroke}" font-weight="700">${valueText(samples.at(-1)?.[measure] ?? 0)}</tspan></text>`,
    `<text x="${width - right + 10}" y="${floor - 20}">${growthText}</text>`,
  ].join("")
}

const valueText = (value: number): string =>
  value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 })

/** Ticks at round minutes, with at most a dozen intervals. */
const minuteTicks = (minutes: number): ReadonlyArray<number> => {
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1_440].find((each) => minutes / each <= 12) ?? minutes
  return Array.from({ length: Math.floor(minutes / step + 1e-6) + 1 }, (_, index) => index * step)
}

const fixed = (value: number): string => String(+value.toFixed(1))
