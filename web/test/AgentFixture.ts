// The agent's pages on its real HTTP, over staged calls, in a real browser. LiveCalls.ts has them on the whole agent.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { readPagePack } from "@punctual/http/pages/PagePack"
import type { AgentHttpOptions } from "../../agent/src/http/AgentHttp.ts"
import { AgentServer } from "../../agent/testkit/AgentServer.ts"
import type { Browser, BrowserPage, View } from "../../server/testkit/Browser.ts"
import { desktop } from "./ConsoleFixture.ts"
import { StagedCalls } from "./StagedCalls.ts"

export const agentPack = fileURLToPath(new URL("../dist/agent.pack", import.meta.url))

export interface AgentRun {
  readonly url: string
  readonly server: AgentServer
  readonly calls: StagedCalls
}

export const withAgent = async (
  use: (agent: AgentRun) => Promise<void>,
  options: Partial<AgentHttpOptions> = {},
  calls = new StagedCalls(options.nowMs),
): Promise<void> => {
  const pages = readPagePack(readFileSync(agentPack))
  await using server = await AgentServer.start(calls.service, { pages, ...options })
  await use({ url: server.url, server, calls })
  if (server.defects.length > 0) throw new Error(`the agent failed: ${server.defects.map(String).join("; ")}`)
}

/** Opens a page of the agent, such as `calls?status=Failed`, in the tenant `shop`. */
export const openAgent = (
  browser: Browser,
  { url }: Pick<AgentRun, "url">,
  place: string,
  view: View = desktop,
): Promise<BrowserPage> => browser.open(`${url}/${place}${place.includes("?") ? "&" : "?"}tenant=shop`, view)
