// What every bus test has: a broker, a service on it, and another service that knows only the contract. When it is
// disposed, it ends every process that still runs.
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { PlainBusClient } from "../../testkit/PlainBusClient.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TcpProxy } from "../../testkit/TcpProxy.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

export class BusRun implements AsyncDisposable {
  readonly broker: NatsServer
  /** Between the service and the broker. */
  readonly proxy: TcpProxy
  readonly service: ServiceProcess
  /** Connected directly to the broker. */
  readonly peer: PlainBusClient
  readonly #stack: AsyncDisposableStack

  private constructor(
    parts: Pick<BusRun, "broker" | "proxy" | "service" | "peer">,
    stack: AsyncDisposableStack,
  ) {
    this.broker = parts.broker
    this.proxy = parts.proxy
    this.service = parts.service
    this.peer = parts.peer
    this.#stack = stack
  }

  /** Returns with a ready service and a peer that listens. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<BusRun> {
    const stack = new AsyncDisposableStack()
    try {
      const broker = stack.use(await NatsServer.start())
      const proxy = stack.use(await TcpProxy.before(broker))
      const folder = stack.use(new TemporaryFolder()).path
      const service = stack.use(
        await ServiceProcess.ready({
          folder,
          settings: { TIMER_BROKER_URL: `nats://${proxy.address}`, ...settings },
        }),
      )
      const peer = stack.use(await PlainBusClient.connected(broker.address))
      await peer.listen()
      return new BusRun({ broker, proxy, service, peer }, stack)
    } catch (error) {
      await stack.disposeAsync()
      throw error
    }
  }

  /** One call of the HTTP contract. `body` is JSON text, or a value that becomes JSON. */
  async call(path: string, body: unknown): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await fetch(`${this.service.url}/api/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    })
    return { status: response.status, body: await response.json() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}
