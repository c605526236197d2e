// The agent's HTTP on a free port, over the service calls that a test gives.
import { listen } from "@punctual/http/listener/Listener"
import { Effect, Exit, Scope } from "effect"
import { ServiceCalls } from "../src/calls/ServiceCalls.ts"
import { type AgentHttp, type AgentHttpOptions, makeAgentHttp } from "../src/http/AgentHttp.ts"
import { agentPrefix } from "../src/http/agentNames.ts"

export interface AgentAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers by paths that they check themselves.
  readonly body: any
}

export class AgentServer implements AsyncDisposable {
  readonly url: string
  readonly http: AgentHttp
  /** Requests that failed for an unexpected reason. */
  readonly defects: ReadonlyArray<unknown>
  readonly #scope: Scope.Closeable

  constructor(url: string, http: AgentHttp, scope: Scope.Closeable, defects: ReadonlyArray<unknown>) {
    this.defects = defects
    this.url = url
    this.http = http
    this.#scope = scope
  }

  static async start(
    calls: ServiceCalls["Service"],
    options: Partial<AgentHttpOptions> = {},
  ): Promise<AgentServer> {
    const scope = await Effect.runPromise(Scope.make())
    const http = await Effect.runPromise(
      Effect.provideService(
        makeAgentHttp({
          guard: { isOnLoopback: true, hosts: [], corsOrigins: [] },
          health: { stalls: () => [], whyNotReady: () => [] },
          pollsChanges: false,
          nowMs: Date.now,
          ...options,
        }),
        ServiceCalls,
        calls,
      ),
    )
    const defects: Array<unknown> = []
    const listening = await Effect.runPromise(
      Scope.provide(
        listen({
          namePrefix: agentPrefix,
          host: "127.0.0.1",
          port: 0,
          handle: (request) => http.handle(request),
          onDefect: (error) => defects.push(error),
        }),
        scope,
      ),
    )
    return new AgentServer(listening.url, http, scope, defects)
  }

  /** Sends JSON, or the text as it is, and reads the answer as JSON if it is JSON. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AgentAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: "manual",
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get("content-type") ?? "")
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.http.close()
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }
}
