// The pages of the Service Agent, if they were built.
import type { PagePack } from "@punctual/http/pages/PagePack"
import { builtPages } from "./builtPages.ts"

export const agentPages = (): Promise<PagePack | undefined> =>
  builtPages("agent", () => import("../../web/dist/agent.pack", { with: { type: "file" } }))
