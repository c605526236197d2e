// A broker for the tests of one file. Each test gets topics of its own, so nothing has to be removed between tests.
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Layer } from "effect"
import { defaultIntakeOptions, type IntakeOptions } from "../src/IntakeOptions.ts"
import { KafkaBus, type KafkaOptions } from "../src/kafka/KafkaBus.ts"
import { KafkaCluster } from "../src/kafka/KafkaCluster.ts"
import { type BrokerLayer, type BrokerRig, ProxiedBroker } from "./BrokerRig.ts"
import { groups, sampleRouting, sampleTopic } from "./BusFixture.ts"
import { KafkaServer, type KafkaServerOptions } from "./KafkaServer.ts"

export class KafkaRig implements BrokerRig {
  readonly server: KafkaServer
  #tests = 0
  #cluster: KafkaCluster | undefined

  private constructor(server: KafkaServer) {
    this.server = server
  }

  static async start(options: KafkaServerOptions = {}): Promise<KafkaRig> {
    return new KafkaRig(await KafkaServer.start(options))
  }

  /** The topic of the current test. */
  get topic(): string {
    return `test-${this.#tests}.events`
  }

  /** Looks at the broker from outside of the bus. */
  async cluster(): Promise<KafkaCluster> {
    this.#cluster ??= await KafkaCluster.open(this.options(), () => {})
    return this.#cluster
  }

  /** The defaults of the service, except for fewer partitions and a shorter wait at the start. */
  options(overrides: Partial<KafkaOptions> = {}): KafkaOptions {
    return {
      servers: [this.server.address],
      replicas: 1,
      partitions: 4,
      intake: defaultIntakeOptions,
      routing: sampleRouting,
      topic: this.topic,
      mainTopic: sampleTopic,
      aggregateHeader: "aggregateId",
      clientName: "suite",
      publishTimeoutMs: 10_000,
      connectTimeoutMs: 5_000,
      ...overrides,
    }
  }

  /** A bus on the topics of the current test. */
  bus(overrides: Partial<KafkaOptions> = {}): BrokerLayer {
    return KafkaBus.layer(this.options(overrides))
  }

  /** A bus on new, empty topics. */
  freshBus(intake: IntakeOptions): BrokerLayer {
    return Layer.unwrap(
      Effect.sync(() => {
        this.renew()
        return this.bus({ intake })
      }),
    )
  }

  async proxied(): Promise<ProxiedBroker> {
    const network = await this.server.proxy()
    return new ProxiedBroker(network, (overrides) => this.bus({ ...overrides, servers: [network.address] }))
  }

  kill9(): Promise<void> {
    return this.server.kill9()
  }

  restart(): Promise<void> {
    return this.server.restart()
  }

  /** From now on, tests use new, empty topics. */
  renew(): void {
    this.#tests++
  }

  /** Resolves when the members of the first group have learned which partitions they have in its second generation. */
  async untilAssignedAgain(): Promise<void> {
    const text = `for group ${this.topic}.${groups[0]} for generation 2.`
    const { logs } = this.server.process
    await eventually("the group changes", () => (logs.some((line) => line.includes(text)) ? true : undefined))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster?.close()
    await this.server[Symbol.asyncDispose]()
  }
}
