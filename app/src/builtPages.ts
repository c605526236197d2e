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
  const file = new URL(`../../web/dist/${product}.pack`, import.meta.url)
  return existsSync(file) ? readPagePack(readFileSync(file)) : undefined
}
