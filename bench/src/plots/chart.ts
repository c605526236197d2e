// One chart: lines on two axes, with the name of each line at its end. It is plain SVG without a background. The colours
// are readable on white and on the dark background of code hosts. The reader's colour scheme only improves the contrast,
// because a page may be dark although the reader's setting is light.

export interface Tick {
  readonly value: number
  readonly label: string
}

export interface Axis {
  /** The position of a value, from 0 at the origin to 1 at the other end. */
  readonly at: (value: number) => number
  readonly ticks: ReadonlyArray<Tick>
  readonly label: string
}

export interface Line {
  readonly name: string
  /** A text after the name, in a lighter style. */
  readonly note?: string
  readonly points: ReadonlyArray<readonly [x: number, y: number]>
  /** Main lines are drawn over the others, and thicker. */
  readonly isMain: boolean
  /** The line shows a second measure of the line before it, in the same colour. */
  readonly isDashed?: boolean
  /** Marks each point. Use this if there are few points and nothing was measured between them. */
  readonly isDotted?: boolean
}

export interface Chart {
  readonly title: string
  readonly subtitle: string
  readonly x: Axis
  readonly y: Axis
  readonly lines: ReadonlyArray<Line>
}

const width = 920
const height = 472
const left = 78
const top = 98
const bottom = 62
const labelGap = 19
/** The width of a character in a wide, bold font, because the reader's font is unknown. */
const charWidth = 7.6

const mainColors = ["#e8590c", "#2f81f7", "#c2255c"]
const otherColors = ["#2b9a8f", "#9a6dd7", "#b58400", "#c65d9b", "#5f9a3c", "#7d8590", "#4a90a4", "#a0705a"]

export const chart = ({ title, subtitle, x, y, lines }: Chart): string => {
  const right = 46 + charWidth * Math.max(12, ...lines.map(({ name, note = "" }) => (name + note).length + 1))
  const plot = { left, right: width - right, top, bottom: height - bottom }
  const px = (value: number) => plot.left + (plot.right - plot.left) * x.at(value)
  const py = (value: number) => plot.bottom - (plot.bottom - plot.top) * y.at(value)
  const colored = colorsOf(lines)
  const labels = spread(
    colored.map(({ points }) => py(points.at(-1)?.[1] ?? 0)),
    plot.top,
    plot.bottom,
  )
  // The main lines are drawn last, so they are on top.
  const order = [...colored.keys()].sort(
    (a, b) => Number(lines[a]?.isMain ?? false) - Number(lines[b]?.isMain ?? false),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="${fonts}" font-size="13">`,
    styles,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(subtitle)}</desc>`,
    `<text class="title" x="24" y="34" font-size="19" font-weight="600">${escaped(title)}</text>`,
    `<text x="24" y="57">${escaped(subtitle)}</text>`,
    ...y.ticks.map(
      ({ value, label }) =>
        `<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${fixed(py(value))}" y2="${fixed(py(value))}"/>` +
        `<text x="${plot.left - 10}" y="${fixed(py(value) + 4.5)}" text-anchor="end">${escaped(label)}</text>`,
    ),
    ...x.ticks.map(
      ({ value, label }) =>
        `<line class="grid" x1="${fixed(px(value))}" x2="${fixed(px(value))}" y1="${plot.top}" y2="${plot.bottom + 5}"/>` +
        `<text x="${fixed(px(value))}" y="${plot.bottom + 23}" text-anchor="middle">${escaped(label)}</text>`,
    ),
    `<text x="${fixed((plot.left + plot.right) / 2)}" y="${height - 14}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text x="24" y="${plot.top - 16}">${escaped(y.label)}</text>`,
    ...order.map((index) =>
      drawn(colored[index], { px, py, labelX: plot.right + 26, labelY: labels[index] }),
    ),
    "</svg>",
    "",
  ].join("\n")
}

interface Colored extends Line {
  readonly color: string
}

/** A dashed line has the colour of the line before it. */
const colorsOf = (lines: ReadonlyArray<Line>): ReadonlyArray<Colored> => {
  let main = 0
  let other = 0
  let last = ""
  return lines.map((line) => {
    const next = () =>
      (line.isMain ? mainColors[main++ % mainColors.length] : otherColors[other++ % otherColors.length]) ?? ""
    last = line.isDashed === true && last !== "" ? last : next()
    return { ...line, color: last }
  })
}

interface Placing {
  readonly px: (value: number) => number
  readonly py: (value: number) => number
  readonly labelX: number
  readonly labelY: number | undefined
}

const drawn = (line: Colored | undefined, { px, py, labelX, labelY }: Placing): string => {
  const end = line?.points.at(-1)
  if (line === undefined || end === undefined || labelY === undefined) return ""
  const { color, isMain, isDashed, isDotted, name, note, points } = line
  const endX = px(end[0])
  const endY = py(end[1])
  const path = points.map(([x, y]) => `${fixed(px(x))},${fixed(py(y))}`).join(" ")
  const widthOfLine = isMain ? 3.2 : 1.7
  return [
    `<polyline fill="none" stroke="${color}" stroke-width="${widthOfLine}" stroke-linejoin="round" stroke-linecap="round"${isDashed === true ? ' stroke-dasharray="2 6"' : ""} points="${path}"/>`,
    ...(isDotted === true
      ? points.map(([x, y]) => `<circle cx="${fixed(px(x))}" cy="${fixed(py(y))}" r="4" fill="${color}"/>`)
      : [`<circle cx="${fixed(endX)}" cy="${fixed(endY)}" r="${isMain ? 4.5 : 3}" fill="${color}"/>`]),
    `<polyline fill="none" stroke="${color}" stroke-width="1" stroke-opacity="0.55" points="${fixed(endX + 6)},${fixed(endY)} ${fixed(labelX - 14)},${fixed(labelY)} ${fixed(labelX - 5)},${fixed(labelY)}"/>`,
    `<text class="${isMain ? "main" : "other"}" x="${fixed(labelX)}" y="${fixed(labelY + 4.5)}"><tspan fill="${color}"${isMain ? ' font-weight="700"' : ""}>${escaped(name)}</tspan>${note === undefined ? "" : `<tspan dx="6">${escaped(note)}</tspan>`}</text>`,
  ].join("")
}

/** Places labels as near as possible to their lines, without overlaps. */
const spread = (wanted: ReadonlyArray<number>, least: number, most: number): ReadonlyArray<number> => {
  const order = [...wanted.keys()].sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0))
  const placed = wanted.map(() => 0)
  let next = least
  for (const index of order) {
    placed[index] = Math.max(next, wanted[index] ?? 0)
    next = (placed[index] ?? 0) + labelGap
  }
  let room = most
  for (const index of order.toReversed()) {
    placed[index] = Math.min(room, placed[index] ?? 0)
    room = (placed[index] ?? 0) - labelGap
  }
  return placed
}

export const fonts = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"

/** Greys that are readable on white and on #0d1117. Each scheme is best on its own background. */
export const styles =
  "<style>text{fill:#68727d}.title{fill:#57606a}.grid{stroke:#8b949e;stroke-opacity:.28;stroke-width:1}" +
  "@media(prefers-color-scheme:dark){text{fill:#8d96a0}.title{fill:#a5aeb8}.grid{stroke-opacity:.32}}</style>"

const fixed = (value: number): string => String(+value.toFixed(1))

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
