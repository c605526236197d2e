// What was watched over a long run, each measure in a panel of its own: a glance tells flat from growing. Plain SVG that
// follows the reader's light or dark setting.
import { type Sample, watched } from "../soak/Sample.ts"

const width = 860
const panelHeight = 90
const left = 190
const right = 30
const top = 50

export const seriesPlot = (title: string, samples: ReadonlyArray<Sample>): string => {
  const measures = Object.entries(watched) as ReadonlyArray<[keyof typeof watched, string]>
  const height = top + measures.length * panelHeight + 40
  const minutes = Math.max(1, samples.at(-1)?.minute ?? 1)
  const x = (minute: number) => left + ((width - left - right) * minute) / minutes
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    "<style>text{fill:#222}.axis{stroke:#bbb}.line{fill:none;stroke:#2e86de;stroke-width:2}@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#555}}</style>",
    `<title>${title}</title>`,
    `<text x="20" y="26" font-size="16" font-weight="600">${title}</text>`,
    ...measures.flatMap(([key, name], index) => {
      const bottom = top + (index + 1) * panelHeight - 14
      const highest = Math.max(1, ...samples.map((sample) => sample[key]))
      const y = (value: number) => bottom - ((panelHeight - 26) * value) / highest
      const points = samples.map((sample) => `${x(sample.minute).toFixed(1)},${y(sample[key]).toFixed(1)}`)
      return [
        `<text x="20" y="${bottom - 24}">${name}</text>`,
        `<text x="${left - 8}" y="${y(highest) + 4}" text-anchor="end">${highest.toFixed(highest < 10 ? 1 : 0)}</text>`,
        `<text x="${left - 8}" y="${bottom}" text-anchor="end">0</text>`,
        `<line class="axis" x1="${left}" x2="${width - right}" y1="${bottom}" y2="${bottom}"/>`,
        `<polyline class="line" points="${points.join(" ")}"/>`,
      ]
    }),
    `<text x="${width - right}" y="${height - 14}" text-anchor="end">${minutes.toFixed(0)} minutes</text>`,
    "</svg>",
    "",
  ].join("\n")
}
