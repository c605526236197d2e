// Many calls of several tenants through an agent in a process of its own, which dies at named steps. The run submits
// calls as careful users do: who gets no answer submits again. It remembers what it submitted, waits until all calls have
// ended, and gives the checker what the API says in the end.
import type { ServiceCallDetailAnswer, ServiceCallView } from "@punctual/api/agent/ServiceCallView"
import { eventually } from "@punctual/server/testkit/eventually"
import type { SeededRandom } from "@punctual/server/testkit/SeededRandom"
import type { StepName } from "../src/ports/Steps.ts"
import type { AgentProcess } from "./AgentProcess.ts"
import { brokenPromises, type EndedCall, type SubmittedCall } from "./CallChecker.ts"
import type { startTarget } from "./startTarget.ts"

export interface CrashRunOptions {
  readonly agent: AgentProcess
  readonly target: ReturnType<typeof startTarget>
  readonly tenants: number
  readonly random: SeededRandom
  /** How long calls may take to end. It only separates slow from never. */
  readonly endWithinMs: number
}

export interface Crash {
  readonly calls: number
  readonly step: StepName
  /** The agent dies when it reaches the step for the nth time. Every call reaches every step at least once. */
  readonly nth: number
}

/** When scheduled calls are due: this long after they are made. Some are due while the agent is dead. */
const dueAfterMs = { shortest: 500, longest: 1_500 }
const atOnce = 16
const pageLimit = 200

export class CrashRun {
  readonly #options: CrashRunOptions
  readonly #submitted: Array<SubmittedCall> = []

  constructor(options: CrashRunOptions) {
    this.#options = options
  }

  /** Submits calls until the agent dies, starts it again, and submits those that were not answered. */
  async crash({ calls, step, nth }: Crash): Promise<void> {
    const { agent, endWithinMs } = this.#options
    // The first half is scheduled, so there are Scheduled calls whenever the agent dies during the second half.
    const asked = Array.from({ length: calls }, (_, at) => this.#nextCall(at < calls / 2))
    await agent.dieAt(step, nth)
    let unanswered = await this.#submit(asked)
    await eventually(`the agent dies at ${step}`, () => (agent.isRunning ? undefined : true), endWithinMs)
    await agent.start()
    // A slow database may refuse some for a moment.
    await eventually(
      "all calls are accepted",
      async () => {
        unanswered = await this.#submit(unanswered)
        return unanswered.length === 0 ? true : undefined
      },
      endWithinMs,
    )
  }

  /** Waits until all calls have ended. Returns what is wrong, one sentence each. */
  async brokenPromises(): Promise<ReadonlyArray<string>> {
    await this.#untilAllEnded()
    const ended = new Map<string, ReadonlyArray<EndedCall>>()
    for (const tenantId of this.#tenants()) ended.set(tenantId, await this.#endedOf(tenantId))
    return brokenPromises({ submitted: this.#submitted, ended, seen: this.#options.target.seen })
  }

  #tenants(): ReadonlyArray<string> {
    return Array.from({ length: this.#options.tenants }, (_, at) => `tenant-${at}`)
  }

  #nextCall(isScheduled: boolean): SubmittedCall {
    const { random, tenants } = this.#options
    const { shortest, longest } = dueAfterMs
    const dueAt = Date.now() + shortest + random.below(longest - shortest)
    const call = {
      tenantId: `tenant-${random.below(tenants)}`,
      serviceCallId: `call-${this.#submitted.length}`,
      ...(isScheduled ? { dueAt } : {}),
    }
    this.#submitted.push(call)
    return call
  }

  /** Returns the calls without an answer. */
  async #submit(calls: ReadonlyArray<SubmittedCall>): Promise<ReadonlyArray<SubmittedCall>> {
    const waiting = [...calls]
    const unanswered: Array<SubmittedCall> = []
    const submitNext = async (): Promise<void> => {
      for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
        const isAccepted = await this.#submitOne(call).catch(() => false)
        if (!isAccepted) unanswered.push(call)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, submitNext))
    return unanswered
  }

  async #submitOne({ tenantId, serviceCallId, dueAt }: SubmittedCall): Promise<boolean> {
    const { url } = this.#options.target
    const response = await this.#ask(tenantId, "", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        serviceCallId,
        request: { method: "POST", url, body: { tenantId, serviceCallId } },
        ...(dueAt === undefined ? {} : { dueAt: new Date(dueAt).toISOString() }),
      }),
    })
    await response.text()
    return response.status === 202
  }

  #untilAllEnded(): Promise<true> {
    const left = new Set(this.#tenants())
    return eventually(
      "all calls have ended",
      async () => {
        for (const tenantId of left) {
          const query = "?status=Submitted,Scheduled,Running&limit=1"
          const open = await this.#list(tenantId, query).catch(() => undefined)
          if (open === undefined || open.calls.length > 0) return undefined
          left.delete(tenantId)
        }
        return true
      },
      this.#options.endWithinMs,
    )
  }

  async #endedOf(tenantId: string): Promise<ReadonlyArray<EndedCall>> {
    const ended: Array<EndedCall> = []
    let cursor = ""
    do {
      const page = await this.#list(tenantId, `?limit=${pageLimit}${cursor}`)
      for (const { serviceCallId } of page.calls) ended.push(await this.#detailOf(tenantId, serviceCallId))
      cursor = page.nextCursor === undefined ? "" : `&cursor=${encodeURIComponent(page.nextCursor)}`
    } while (cursor !== "")
    return ended
  }

  async #detailOf(tenantId: string, serviceCallId: string): Promise<EndedCall> {
    const response = await this.#ask(tenantId, `/${serviceCallId}`)
    const { call, timeline } = (await response.json()) as Pick<ServiceCallDetailAnswer, "call" | "timeline">
    return {
      call: { ...call, state: call.status },
      timeline: timeline.map(({ version, what, status: state }) => ({ version, what, state })),
    }
  }

  async #list(
    tenantId: string,
    query: string,
  ): Promise<{ readonly calls: ReadonlyArray<ServiceCallView>; readonly nextCursor?: string }> {
    const response = await this.#ask(tenantId, query)
    if (!response.ok) throw new Error(`the list of ${tenantId} was answered with ${response.status}`)
    return (await response.json()) as { calls: ReadonlyArray<ServiceCallView> }
  }

  #ask(tenantId: string, path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#options.agent.url}/api/v1/tenants/${tenantId}/service-calls${path}`, init)
  }
}
