// The documents of this repository: where they are, their code blocks, their headings and their links. The tests of the
// documents read them through this file.
//
// A comment in the line before a block tells a test what to do with it:
//
//   <!-- not run: <reason> -->                  no test can run this block
//   <!-- run: <how> -->                         a special way to run it, known to the test
//   <!-- appears in: terminal 2 -->             the block is output, and a terminal shows it
//   <!-- printed by: the program above -->      the block is output of the program before it
import { HeadingSlugs } from "../web/site/HeadingSlugs.ts"
import { filesBelow, textOf } from "./repository.ts"

export interface DocumentBlock {
  readonly language: string
  readonly text: string
  /** What the comment before it says. */
  readonly note: string | undefined
  readonly line: number
}

export interface DocumentLink {
  readonly target: string
  readonly line: number
}

/** README, the guides and the READMEs of the client libraries: a test runs every block of them. */
export const guides = (): ReadonlyArray<string> => [
  "README.md",
  ...filesBelow("docs/guides", ".md"),
  "sdks/typescript/README.md",
]

/** All documents that are written by hand, or that a bench has written. */
export const documents = (): ReadonlyArray<string> => [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  ...filesBelow("docs", ".md"),
  ...filesBelow("bench", ".md"),
  "deploy/helm/punctual/README.md",
  "sdks/conformance/README.md",
  "sdks/go/README.md",
  "sdks/harness/README.md",
  "sdks/java/README.md",
  "sdks/python/README.md",
  "sdks/typescript/README.md",
]

/** A block in a list is indented; its text is not. */
export const blocksOf = (path: string): ReadonlyArray<DocumentBlock> => {
  const lines = textOf(path).split("\n")
  const blocks: Array<DocumentBlock> = []
  for (let at = 0; at < lines.length; at++) {
    const [, indent, language] = /^( *)```(\w*)$/.exec(lines[at] ?? "") ?? []
    if (indent === undefined || language === undefined) continue
    const end = lines.indexOf(`${indent}\`\`\``, at + 1)
    if (end === -1) throw new Error(`${path}:${at + 1}: the block has no end`)
    const body = lines.slice(at + 1, end).map((line) => line.slice(indent.length))
    const [, note] = /^\s*<!-- (.+) -->$/.exec(lines[at - 1] ?? "") ?? []
    blocks.push({ language, text: body.map((line) => `${line}\n`).join(""), note, line: at + 1 })
    at = end
  }
  return blocks
}

/** The document with its code blanked out, line by line. */
const proseOf = (path: string): string => {
  let isCode = false
  return textOf(path)
    .split("\n")
    .map((line) => {
      const isFence = /^ *```/.test(line)
      if (isFence) isCode = !isCode
      return isFence || isCode ? "" : line.replaceAll(/`[^`]*`/g, "")
    })
    .join("\n")
}

/** What each sentence is searched in: prose without code and without the targets of links. */
export const wordsOf = (path: string): ReadonlyArray<string> =>
  proseOf(path)
    .replaceAll(/\]\([^)]*\)/g, "]")
    .split("\n")

/** Links and pictures, in Markdown and in HTML. */
export const linksOf = (path: string): ReadonlyArray<DocumentLink> =>
  proseOf(path)
    .split("\n")
    .flatMap((line, index) =>
      [...line.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)].map(
        ([, inMarkdown, inHtml]) => ({
          target: inMarkdown ?? inHtml ?? "",
          line: index + 1,
        }),
      ),
    )

/** The anchors that GitHub gives the headings of a document. */
export const anchorsOf = (path: string): ReadonlySet<string> => {
  const slugs = new HeadingSlugs()
  const anchors = new Set<string>()
  let isCode = false
  for (const line of textOf(path).split("\n")) {
    if (/^ *```/.test(line)) isCode = !isCode
    const [, heading] = isCode ? [] : (/^#{1,6} (.+)$/.exec(line) ?? [])
    if (heading !== undefined) anchors.add(slugs.slugOf(heading))
  }
  return anchors
}
