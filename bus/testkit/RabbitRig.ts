// One RabbitMQ server for all tests of a file. Each test gets a prefix of its own, so nothing has to be removed between
// tests. The rig has a client of its own, which knows nothing of the bus.
import { eventually } from "@punctual/server/testkit/eventually"
import { TcpProxy } from "@punctual/server/testkit/TcpProxy"
import { Effect, Layer } from "effect"
import { type Channel, type ChannelModel, connect } from "../../drivers/rabbitmq/rabbitmq.ts"
import { defaultIntakeOptions, type IntakeOptions } from "../src/IntakeOptions.ts"
import { RabbitBus, type RabbitOptions } from "../src/rabbitmq/RabbitBus.ts"
import { type BrokerLayer, type BrokerRig, ProxiedBroker } from "./BrokerRig.ts"
import { sampleRouting } from "./BusFixture.ts"
import { RabbitServer, type RabbitServerOptions } from "./RabbitServer.ts"

export class RabbitRig implements BrokerRig {
  readonly server: RabbitServer
  #client: Promise<ChannelModel> | undefined
  #prefixes = 0

  private constructor(server: RabbitServer) {
    this.server = server
  }

  static async start(options: RabbitServerOptions = {}): Promise<RabbitRig> {
    return new RabbitRig(await RabbitServer.start(options))
  }

  get prefix(): string {
    return `svc${this.#prefixes}`
  }

  /** The defaults of the service, except for a shorter wait at the start and fewer queues. */
  options(overrides: Partial<RabbitOptions> = {}): RabbitOptions {
    return {
      hosts: [{ host: this.server.host, port: this.server.port }],
      vhost: "/",
      intake: defaultIntakeOptions,
      routing: sampleRouting,
      prefix: this.prefix,
      queues: 4,
      aggregateHeader: "aggregateId",
      clientName: "suite",
      publishTimeoutMs: 10_000,
      connectTimeoutMs: 5_000,
      ...overrides,
    }
  }

  /** A bus with the current prefix. */
  bus(overrides: Partial<RabbitOptions> = {}): BrokerLayer {
    return RabbitBus.layer(this.options(overrides))
  }

  /** A bus with a new prefix. */
  freshBus(intake: IntakeOptions, overrides: Partial<RabbitOptions> = {}): BrokerLayer {
    return Layer.unwrap(
      Effect.sync(() => {
        this.renew()
        return this.bus({ ...overrides, intake })
      }),
    )
  }

  /** Switches to a new prefix. */
  renew(): void {
    this.#prefixes++
  }

  /** Works with a channel of the rig's own client. */
  async withChannel<A>(work: (channel: Channel) => Promise<A>): Promise<A> {
    const channel = await (await this.#connected()).createChannel()
    channel.on("error", () => {})
    try {
      return await work(channel)
    } finally {
      await channel.close().catch(() => {})
    }
  }

  /** Sends raw bytes, and waits until the broker has them. */
  async inject(exchange: string, routingKey: string, bytes: Uint8Array): Promise<void> {
    const channel = await (await this.#connected()).createConfirmChannel()
    channel.publish(exchange, routingKey, Buffer.from(bytes), { persistent: true })
    await channel.waitForConfirms()
    await channel.close()
  }

  async proxied(): Promise<ProxiedBroker> {
    const network = await TcpProxy.before(this.server)
    const hosts = [{ host: this.server.host, port: network.port }]
    return new ProxiedBroker(network, (overrides) => this.bus({ ...overrides, hosts }))
  }

  restart(): Promise<void> {
    return this.server.restart()
  }

  /** Kills the server without any notice. The queues of the first group survive. */
  kill9(): Promise<void> {
    const { prefix } = this
    const numbers = Array.from({ length: 4 }, (_, number) => `${prefix}:first:${number}`)
    return this.server.kill9([...numbers, `${prefix}.dlq`])
  }

  /** The messages in a queue that no consumer has. */
  ready(queue: string): Promise<number> {
    return this.withChannel(async (channel) => (await channel.checkQueue(queue)).messageCount)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.then((client) => client.close()).catch(() => {})
    await this.server[Symbol.asyncDispose]()
  }

  /** Right after its start a server may still refuse clients. */
  #connected(): Promise<ChannelModel> {
    const { host: hostname, port } = this.server
    this.#client ??= eventually("the rig is connected", async () => {
      const client = await connect({ hostname, port }).catch(() => undefined)
      client?.on("error", () => {})
      client?.on("close", () => {
        this.#client = undefined
      })
      return client
    })
    return this.#client
  }
}
