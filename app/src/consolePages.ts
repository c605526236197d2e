// Finds the built pages of the console: in the executable, or in the folder of the sources. Without them the service
// works, but has no console.
import { existsSync, readFileSync } from "node:fs"
import { type PagePack, readPagePack } from "@punctual/http/pages/PagePack"
import { build } from "@punctual/server/program/Build"

const builtFile = new URL("../../web/dist/console.pack", import.meta.url)

const packText = async (): Promise<string | undefined> => {
  if (build.built !== undefined) {
    const { default: text } = await import("../../web/dist/console.pack", { with: { type: "text" } })
    return text
  }
  return existsSync(builtFile) ? readFileSync(builtFile, "utf8") : undefined
}

export const consolePages = async (): Promise<PagePack | undefined> => {
  const text = await packText()
  return text === undefined ? undefined : readPagePack(text)
}
