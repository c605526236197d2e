// Turns the service into a node of the release before calls between nodes were signed. Bun loads this file before the
// program (--preload). It replaces the two files that nodes call each other with, and takes the column that says who
// signs out of the schema and the statements. The rest of the program is today's.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { plugin } from "bun"

const here = (file: string): string => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)))

/** The whole text of the file instead of today's. */
const replaced: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /server\/src\/peers\/http\/HttpPeers\.ts$/,
    `export { UnsignedPeers as HttpPeers } from ${here("./UnsignedPeers.ts")}`,
  ],
  [
    /server\/src\/peers\/http\/peerRoutes\.ts$/,
    `export { makeUnsignedPeerRoutes as makePeerRoutes, peerPath } from ${here("./unsignedPeerRoutes.ts")}`,
  ],
]

/** The parts of today's text that were not there. */
const without: ReadonlyArray<readonly [RegExp, ReadonlyArray<string>]> = [
  [
    /server\/src\/stores\/postgres\/statements\.ts$/,
    [", is_signing)", ", true)", ",\n      is_signing = true", " is_signing,"],
  ],
  [/server\/src\/stores\/postgres\/migrations\/all\.ts$/, ["  { version: 13, text: signing },\n"]],
]

const textWithout = (path: string, parts: ReadonlyArray<string>): string =>
  parts.reduce(
    (text, part) => {
      if (text.split(part).length !== 2) throw new Error(`${path} must contain this once: ${part}`)
      return text.replace(part, part.startsWith(", ") ? ")" : "")
    },
    readFileSync(path, "utf8"),
  )

plugin({
  name: "a node that does not sign",
  setup: (build) => {
    for (const [filter, contents] of replaced) build.onLoad({ filter }, () => ({ contents, loader: "ts" }))
    for (const [filter, parts] of without) {
      build.onLoad({ filter }, ({ path }) => ({ contents: textWithout(path, parts), loader: "ts" }))
    }
  },
})
