// The pages must load fast: how many bytes a browser fetches for them.
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import { readPagePack } from "@punctual/http/pages/PagePack"

const firstPageBytes = 150_000
const otherPageBytes = 60_000

const products = [
  { name: "console", pagesMin: 8 },
  { name: "agent", pagesMin: 2 },
]

test.each(products)(
  "the first page and the other pages of the $name stay within their sizes",
  ({ name: product, pagesMin }) => {
    const { files } = readPagePack(
      readFileSync(fileURLToPath(new URL(`../dist/${product}.pack`, import.meta.url))),
    )
    const textOf = (name: string) =>
      new TextDecoder().decode(gunzipSync(files.get(name)?.bytes ?? new Uint8Array()))
    const matches = (name: string, pattern: RegExp) =>
      [...textOf(name).matchAll(pattern)].map(([, found = ""]) => found)
    /** The file and everything that it needs at once. */
    const withImports = (name: string, seen = new Set<string>()): Set<string> => {
      if (!seen.has(name) && files.has(name)) {
        seen.add(name)
        for (const next of matches(name, /(?:from|import) ?"\.\/([^"]+)"/g)) withImports(next, seen)
      }
      return seen
    }
    const bytesOf = (names: Iterable<string>) =>
      [...names].reduce((sum, name) => sum + (files.get(name)?.bytes.byteLength ?? 0), 0)

    const first = new Set(["index.html"])
    for (const name of matches("index.html", /="\.\/([^"]+)"/g))
      for (const each of withImports(name)) first.add(each)
    expect(bytesOf(first)).toBeLessThan(firstPageBytes)
    expect(bytesOf(first)).toBeGreaterThan(10_000)

    const [main = ""] = [...files.keys()].filter((name) => /^main-.*\.js$/.test(name))
    const pages = matches(main, /import\("\.\/([^"]+)"\)/g)
    expect(pages.length).toBeGreaterThanOrEqual(pagesMin)
    for (const page of pages) {
      const more = [...withImports(page)].filter((name) => !first.has(name))
      expect([page, bytesOf(more) < otherPageBytes]).toEqual([page, true])
    }
  },
)
