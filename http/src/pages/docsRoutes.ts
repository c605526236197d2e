// Serves the documentation as it was built. The pages show nothing of the service and call nothing, so they need no key.
import type { ConsoleRoutes } from "./ConsoleRoutes.ts"
import type { PagePack } from "./PagePack.ts"
import { type PageAnswer, pageAnswer } from "./pageAnswer.ts"
import { checkedEachTime, keptForever, pageRules } from "./pageRules.ts"

/** `below` is the path before the names of pages and files. It ends with a slash. */
export const docsRoutes = ({ files }: PagePack, below: string): ConsoleRoutes => {
  const answers = new Map<string, PageAnswer>()
  const pagePaths: Array<string> = []
  for (const [name, file] of files) {
    // The names of all other files change with their content.
    const isPage = name.endsWith(".html")
    const answer = pageAnswer(file, { ...(isPage ? checkedEachTime : keptForever), ...pageRules })
    const paths = name === "index.html" ? [below, `${below}${name}`] : [`${below}${name}`]
    for (const path of paths) answers.set(path, answer)
    if (isPage) pagePaths.push(...paths)
  }
  return { answers, pagePaths }
}
