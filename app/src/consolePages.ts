// The pages of the console, if they were built.
import type { PagePack } from "@punctual/http/pages/PagePack"
import { builtPages } from "./builtPages.ts"

export const consolePages = (): Promise<PagePack | undefined> =>
  builtPages("console", () => import("../../web/dist/console.pack", { with: { type: "file" } }))
