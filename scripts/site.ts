// `npm run site -- FOLDER` writes the documentation into a folder, for any web server: the pages that a node serves at
// /docs, and the reference of the API.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { defaultLimits } from "@punctual/api/Limits"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import { readPagePack } from "@punctual/http/pages/PagePack"
import { makeReference } from "@punctual/http/reference/Reference"
import { timerReference } from "../server/src/http/timerReference.ts"
import { root } from "./repository.ts"

/** Returns how many files it has written. Fails if the folder has files already: they could be of another site. */
export const writeSite = async (folder: string): Promise<number> => {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Error(`${folder} is not empty: name a new folder, or empty it first`)
  }
  const { files } = readPagePack(readFileSync(join(root, "web/dist/docs.pack")))
  const contents = [
    ...[...files].map(([name, { isGzip, bytes }]) => [name, isGzip ? gunzipSync(bytes) : bytes] as const),
    ...(await referenceFiles()),
  ]
  for (const [name, content] of contents) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return contents.length
}

const referenceFiles = async (): Promise<ReadonlyArray<readonly [string, string | Uint8Array]>> => {
  const reference = makeReference({ ...timerReference(defaultLimits), docs: "index.html" })
  const page = textOfAnswer(await reference.page())
    // The document is beside the page here.
    .replaceAll('href="../openapi.json"', 'href="openapi.json"')
    // The script of the page would show the address of this web server as the address of the service.
    .replaceAll('<span class="base">', "<span>")
  return [
    ["api.html", page],
    ["openapi.json", textOfAnswer(await reference.openApi())],
    ["api.css", textOfAnswer(reference.style())],
    ["api.js", textOfAnswer(reference.script())],
    ["api.svg", textOfAnswer(reference.icon())],
  ]
}

const textOfAnswer = ({ body }: HttpAnswer): string => {
  if (body instanceof Uint8Array) return new TextDecoder().decode(body)
  if (typeof body !== "string") throw new Error("the reference is not text")
  return body
}

if (import.meta.main) {
  const [folder, ...others] = process.argv.slice(2)
  if (folder === undefined || others.length > 0) {
    console.error("Name one folder: npm run site -- FOLDER")
    process.exit(2)
  }
  try {
    console.log(`${await writeSite(folder)} files in ${folder}; open ${join(folder, "index.html")}`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}
