// Finds the built pages of a product: in the executable, or in the folder of the sources. Without them the program
// works, but has no pages.
import { existsSync, readFileSync } from "node:fs"
import { type PagePack, readPagePack } from "@punctual/http/pages/PagePack"
import { build } from "@punctual/server/program/Build"

/** `inExecutable` imports the path of the same file. The bundler must see that import, so each product has its own. */
export const builtPages = async (
  product: "console" | "agent" | "docs",
  inExecutable: () => Promise<{ readonly default: string }>,
): Promise<PagePack | undefined> => {
  if (build.built !== undefined) return readPagePack(readFileSync((await inExecutable()).default))
  const warn = (text: string): void => void process.stderr.write(`${text}\n`)
  return pagesFrom(new URL(`../../web/dist/${product}.pack`, import.meta.url), warn)
}

/** Another version of the sources may have built the file, in another form. Timers matter more than pages. */
export const pagesFrom = (file: URL, warn: (text: string) => void): PagePack | undefined => {
  if (!existsSync(file)) return undefined
  try {
    return readPagePack(readFileSync(file))
  } catch {
    warn(`${file.pathname} cannot be read, so its pages are not served. npm start builds them again.`)
    return undefined
  }
}
