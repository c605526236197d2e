// The whole agent behind its HTTP, in one process: SQLite files in a temporary folder, the local bus, a real Timer, and a
// service to call. Only its port and its keys are those of a test.
import { eventually } from "@punctual/server/testkit/eventually"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Exit, Layer, Scope } from "effect"
import { ServiceCalls } from "../src/calls/ServiceCalls.ts"
import type { AgentHttpOptions } from "../src/http/AgentHttp.ts"
import type { ServiceCaller } from "../src/ports/ServiceCaller.ts"
import { agentRig } from "./AgentRig.ts"
import { type AgentAnswer, AgentServer } from "./AgentServer.ts"
import { CalledService } from "./CalledService.ts"

export interface LiveAgentOptions {
  readonly http?: Partial<AgentHttpOptions>
  readonly openCallsMax?: number
  /** What makes the calls, if not the real caller. */
  readonly caller?: Layer.Layer<ServiceCaller>
}

export class LiveAgent implements AsyncDisposable {
  readonly server: AgentServer
  readonly calls: ServiceCalls["Service"]
  /** What its calls can reach. */
  readonly target: CalledService
  readonly #close: () => Promise<void>

  private constructor(
    server: AgentServer,
    calls: ServiceCalls["Service"],
    target: CalledService,
    close: () => Promise<void>,
  ) {
    this.server = server
    this.calls = calls
    this.target = target
    this.#close = close
  }

  static async start({ http = {}, ...options }: LiveAgentOptions = {}): Promise<LiveAgent> {
    const folder = new TemporaryFolder()
    const scope = await Effect.runPromise(Scope.make())
    const target = await CalledService.start()
    const rig = agentRig({ folder: folder.path, ...options })
    const services = await Effect.runPromise(Layer.buildWithScope(rig, scope))
    const calls = await Effect.runPromise(Effect.provide(ServiceCalls, services))
    const server = await AgentServer.start(calls, http)
    return new LiveAgent(server, calls, target, async () => {
      await server[Symbol.asyncDispose]()
      target[Symbol.dispose]()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      folder[Symbol.dispose]()
    })
  }

  get url(): string {
    return this.server.url
  }

  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<AgentAnswer> {
    return this.server.send(method, path, body, headers)
  }

  /** Waits until the call at this path has one of the statuses. Returns the answer with its details. */
  until(path: string, ...statuses: ReadonlyArray<string>): Promise<AgentAnswer["body"]> {
    return eventually(
      `${path} is ${statuses.join(" or ")}`,
      async () => {
        const { body } = await this.send("GET", path)
        return statuses.includes(body.call?.status) ? body : undefined
      },
      60_000,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}
