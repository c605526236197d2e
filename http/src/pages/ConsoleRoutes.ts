// Serves the pages of a product: their files, as they were built. Everything that the pages show they get through the
// API, with the rights of their reader. So the files themselves need no key.
import { gunzipSync } from "node:zlib"
import type { HttpAnswer } from "../HttpAnswer.ts"
import type { HttpRequest } from "../HttpRequest.ts"
import type { PageFile, PagePack } from "./PagePack.ts"
import { callingPageRules, checkedEachTime, keptForever } from "./pageRules.ts"

type Answer = (request: HttpRequest) => HttpAnswer

const indexName = "index.html"

export interface ConsoleRoutes {
  /** The keys are paths. */
  readonly answers: ReadonlyMap<string, Answer>
  /** The paths of pages, which other sites may link to. */
  readonly pagePaths: ReadonlyArray<string>
}

/** `below` is the path before the names of pages and files. It ends with a slash. */
export const consoleRoutes = ({ pages, files }: PagePack, below: string): ConsoleRoutes => {
  const answers = new Map<string, Answer>()
  for (const [name, file] of files) {
    if (name !== indexName) answers.set(`${below}${name}`, fileAnswer(file, keptForever))
  }
  const index = files.get(indexName)
  if (index === undefined) throw new Error(`the pages of ${below} have no ${indexName}`)
  const pagePaths = [below, ...pages.map((page) => `${below}${page}`)]
  const page = fileAnswer(index, checkedEachTime)
  for (const path of pagePaths) answers.set(path, page)
  return { answers, pagePaths }
}

const fileAnswer = ({ contentType, gzip }: PageFile, cacheRule: Readonly<Record<string, string>>): Answer => {
  const headers = { "content-type": contentType, vary: "accept-encoding", ...cacheRule, ...callingPageRules }
  const compressed: HttpAnswer = {
    status: 200,
    headers: { ...headers, "content-encoding": "gzip" },
    body: gzip,
  }
  return (request) =>
    takesGzip(request) ? compressed : { status: 200, headers, body: new Uint8Array(gunzipSync(gzip)) }
}

const takesGzip = ({ headers }: HttpRequest): boolean =>
  /(?:^|[,\s])(?:gzip|\*)(?:$|[,;\s])(?!\s*q=0(?:\.0*)?(?:,|$))/i.test(headers.get("accept-encoding") ?? "")
