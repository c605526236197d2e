// The pages of the documentation, if they were built.
import type { PagePack } from "@punctual/http/pages/PagePack"
import { builtPages } from "./builtPages.ts"

export const docsPages = (): Promise<PagePack | undefined> =>
  builtPages("docs", () => import("../../web/dist/docs.pack", { with: { type: "file" } }))
