// The picture in the README: how a timer goes from your service through Punctual to your endpoint. It is drawn once and
// coloured twice, for light and for dark pages. Run it to write both files; a test checks that they are up to date.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./repository.ts"

interface Colours {
  readonly text: string
  readonly quiet: string
  readonly line: string
  readonly box: string
  readonly edge: string
  readonly main: string
  readonly mainText: string
}

/** The colours by file, from the root of the repository. */
const pictures: Readonly<Record<string, Colours>> = {
  "docs/pictures/timer-light.svg": {
    text: "#1f2328",
    quiet: "#59636e",
    line: "#59636e",
    box: "#f6f8fa",
    edge: "#d1d9e0",
    main: "#c8432f",
    mainText: "#ffffff",
  },
  "docs/pictures/timer-dark.svg": {
    text: "#f0f6fc",
    quiet: "#9198a1",
    line: "#9198a1",
    box: "#151b23",
    edge: "#3d444d",
    main: "#c8432f",
    mainText: "#ffffff",
  },
}

const boxTop = 70
const boxHeight = 96
const middle = boxTop + boxHeight / 2

/** The text of each picture, by file. */
export const timerPictures = (): ReadonlyMap<string, string> =>
  new Map(Object.entries(pictures).map(([file, colours]) => [file, pictureIn(colours)]))

const pictureIn = (colours: Colours): string => {
  const { text, quiet, line, box, edge, main, mainText } = colours
  const plain = (x: number, title: string, note: string) =>
    `${rectangle(x, box, edge)}${words(x + 90, middle - 6, title, text, 17, 600)}${words(x + 90, middle + 18, note, quiet)}`
  const arrow = (x: number, above: string, below: string) =>
    `<path d="M${x} ${middle}h172" stroke="${line}" stroke-width="1.5" marker-end="url(#head)" fill="none"/>` +
    `${words(x + 86, middle - 14, above, text, 14, 600)}${words(x + 86, middle + 26, below, quiet)}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 215" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif">
<title>How a timer flows</title>
<desc>Your service creates a timer. Punctual stores it on disk and answers. At time T Punctual sends the webhook to your endpoint, and retries if the call fails.</desc>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L10 5L0 10z" fill="${line}"/></marker></defs>
${plain(10, "Your service", "any language")}
${arrow(194, "create a timer", "answer: it is on disk")}
${rectangle(374, main, main)}${words(464, middle - 6, "Punctual", mainText, 19, 700)}${words(464, middle + 18, "keeps it until T", mainText)}
${arrow(558, "webhook at T", "retry if it fails")}
${plain(738, "Your endpoint", "answers 200")}
<path d="M100 ${boxTop - 4}C100 20 464 20 464 ${boxTop - 6}" stroke="${line}" stroke-width="1.5" stroke-dasharray="4 4" marker-end="url(#head)" fill="none"/>
${words(282, 24, "move or cancel it, with a clear answer", quiet)}
${words(464, 200, "SQLite file or PostgreSQL", quiet)}
<path d="M464 ${boxTop + boxHeight}v16" stroke="${line}" stroke-width="1.5"/>
</svg>
`
}

const rectangle = (x: number, fill: string, stroke: string): string =>
  `<rect x="${x}" y="${boxTop}" width="180" height="${boxHeight}" rx="10" fill="${fill}" stroke="${stroke}"/>`

const words = (x: number, y: number, text: string, fill: string, size = 13, weight = 400): string =>
  `<text x="${x}" y="${y}" text-anchor="middle" fill="${fill}" font-size="${size}" font-weight="${weight}">${text}</text>`

if (import.meta.main) {
  for (const [file, text] of timerPictures()) writeFileSync(join(root, file), text)
}
