// The whole agent with its pages, in a real browser: real calls over loopback, a real Timer, SQLite files. The test says
// when a service that is called answers.
import { readFileSync } from "node:fs"
import { readPagePack } from "@punctual/http/pages/PagePack"
import { Effect } from "effect"
import type { ServiceCalls } from "../../agent/src/calls/ServiceCalls.ts"
import type { ServiceCall } from "../../agent/src/domain/ServiceCall.ts"
import type { AgentHttpOptions } from "../../agent/src/http/AgentHttp.ts"
import { LiveAgent } from "../../agent/testkit/LiveAgent.ts"
import { eventually } from "../../server/testkit/eventually.ts"
import { agentPack } from "./AgentFixture.ts"
import type { StagedRequest } from "./StagedCalls.ts"

export class LiveCalls {
  readonly #agent: LiveAgent

  constructor(agent: LiveAgent) {
    this.#agent = agent
  }

  get service(): ServiceCalls["Service"] {
    return this.#agent.calls
  }

  /** Submits a call of the tenant `shop` and waits until it is scheduled, held by the called service, or over. */
  async submit({ inMs, request, ...asked }: StagedRequest): Promise<string> {
    const url = `${this.#agent.target.url}/orders`
    const { call } = await Effect.runPromise(
      this.service.submit({
        tenantId: "shop",
        name: "A call",
        tags: [],
        ...asked,
        request: { method: "GET", url, ...request },
        ...(inMs === undefined ? {} : { dueAt: Date.now() + inMs }),
      }),
    )
    const isHeld = request?.url?.includes("/hold") === true
    const rest = inMs !== undefined ? ["Scheduled"] : isHeld ? ["Running"] : ["Succeeded", "Failed"]
    await this.#until(call, rest)
    return call.serviceCallId
  }

  /** Makes a scheduled call due. Returns when the called service has its request. */
  async run(id: string, tenantId = "shop"): Promise<void> {
    const call = await Effect.runPromise(this.service.reschedule(tenantId, id, Date.now()))
    await this.#until(call, ["Running"])
  }

  /** Lets the called service answer everything that it holds. */
  async answer(status = 200): Promise<void> {
    await eventually("a held request", () => (this.#agent.target.holds > 0 ? true : undefined), 60_000)
    this.#agent.target.release(status)
  }

  #until({ tenantId, serviceCallId }: ServiceCall, states: ReadonlyArray<string>): Promise<true> {
    const isThere = async () => {
      const { state } = await Effect.runPromise(this.service.find(tenantId, serviceCallId))
      return states.includes(state) ? true : undefined
    }
    return eventually(`${serviceCallId} is ${states.join(" or ")}`, isThere, 60_000)
  }
}

export interface LiveRun {
  readonly url: string
  readonly agent: LiveAgent
  readonly calls: LiveCalls
  /** Open streams of events. */
  readonly readers: () => Promise<number>
}

export const withLiveAgent = async (
  use: (run: LiveRun) => Promise<void>,
  http: Partial<AgentHttpOptions> = {},
): Promise<void> => {
  const pages = readPagePack(readFileSync(agentPack))
  await using agent = await LiveAgent.start({ http: { pages, ...http } })
  const readers = async () => {
    const { body } = await agent.send("GET", "/metrics")
    return Number(/^agent_event_readers (\d+)/m.exec(String(body))?.[1] ?? -1)
  }
  await use({ url: agent.url, agent, calls: new LiveCalls(agent), readers })
  const { defects } = agent.server
  if (defects.length > 0) throw new Error(`the agent failed: ${defects.map(String).join("; ")}`)
}

/** Waits until an open page hears of changes. */
export const whenStreaming = ({ readers }: LiveRun): Promise<true> =>
  eventually("the stream", async () => ((await readers()) > 0 ? true : undefined))
