// The pages in the folder of the sources. A build of another version can have left them there.
import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { writePagePack } from "@punctual/http/pages/PagePack"
import { TemporaryFolder } from "../../server/testkit/TemporaryFolder.ts"
import { pagesFrom } from "../src/builtPages.ts"

const pages = { pages: ["timers"], files: new Map() }

/** What a file with this content gives, and the warnings about it. */
const readFrom = (content: Uint8Array | string | undefined) => {
  using folder = new TemporaryFolder()
  const path = join(folder.path, "console.pack")
  if (content !== undefined) writeFileSync(path, content)
  const warnings: Array<string> = []
  return { found: pagesFrom(pathToFileURL(path), (text) => warnings.push(text)), warnings }
}

describe("built pages", () => {
  test("are read", () => {
    expect(readFrom(writePagePack(pages))).toEqual({ found: pages, warnings: [] })
  })

  test("that were never built are absent, without a warning", () => {
    expect(readFrom(undefined)).toEqual({ found: undefined, warnings: [] })
  })

  test.each([
    ["empty", ""],
    ["of another form", "<!doctype html>\n"],
    ["cut off", Buffer.from(writePagePack(pages)).subarray(0, -2)],
    ["followed by more bytes", Buffer.concat([writePagePack(pages), Buffer.from("more")])],
    ["without a list of files", "{}\n"],
  ])("that are %s do not stop the program: a warning names the file and the remedy", (_, content) => {
    const { found, warnings } = readFrom(content)
    expect(found).toBeUndefined()
    expect(warnings).toEqual([expect.stringMatching(/console\.pack cannot be read.*npm start/)])
  })
})
