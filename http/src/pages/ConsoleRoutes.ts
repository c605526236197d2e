// Serves the pages of a product: their files, as they were built. Everything that the pages show they get through the
// API, with the rights of their reader. So the files themselves need no key.
import type { PagePack } from "./PagePack.ts"
import { type PageAnswer, pageAnswer } from "./pageAnswer.ts"
import { callingPageRules, checkedEachTime, keptForever } from "./pageRules.ts"

const indexName = "index.html"

export interface ConsoleRoutes {
  /** The keys are paths. */
  readonly answers: ReadonlyMap<string, PageAnswer>
  /** The paths of pages, which other sites may link to. */
  readonly pagePaths: ReadonlyArray<string>
}

/** `below` is the path before the names of pages and files. It ends with a slash. */
export const consoleRoutes = ({ pages, files }: PagePack, below: string): ConsoleRoutes => {
  const answers = new Map<string, PageAnswer>()
  for (const [name, file] of files) {
    // The names of these files change with their content.
    if (name !== indexName)
      answers.set(`${below}${name}`, pageAnswer(file, { ...keptForever, ...callingPageRules }))
  }
  const index = files.get(indexName)
  if (index === undefined) throw new Error(`the pages of ${below} have no ${indexName}`)
  const pagePaths = [below, ...pages.map((page) => `${below}${page}`)]
  const page = pageAnswer(index, { ...checkedEachTime, ...callingPageRules })
  for (const path of pagePaths) answers.set(path, page)
  return { answers, pagePaths }
}
