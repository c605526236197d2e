// A broker for the tests of one file, and a plain client that inspects it from outside. Each test gets an account of
// its own, which isolates it like a broker of its own, so nothing has to be removed between tests. (On servers of
// version 2.15, a stream that is created right after one with the same name was removed can contain the old messages.)

import { TcpProxy } from "@punctual/server/testkit/TcpProxy"
import { Effect, Layer } from "effect"
import {
  connect,
  type JetStreamManager,
  jetstreamManager,
  type NatsConnection,
} from "../../drivers/nats/nats.ts"
import { defaultIntakeOptions, type IntakeOptions } from "../src/IntakeOptions.ts"
import { NatsBus, type NatsOptions } from "../src/nats/NatsBus.ts"
import { type BrokerLayer, type BrokerRig, ProxiedBroker } from "./BrokerRig.ts"
import { sampleRouting } from "./BusFixture.ts"
import { NatsServer, type NatsServerOptions } from "./NatsServer.ts"

const accounts = 200

export class NatsRig implements BrokerRig {
  readonly server: NatsServer
  #account: Account | undefined
  #accountsUsed = 0

  private constructor(server: NatsServer) {
    this.server = server
  }

  static async start(options: Pick<NatsServerOptions, "config"> = {}): Promise<NatsRig> {
    const config = `${accountsConfig}\n${options.config ?? ""}`
    return new NatsRig(await NatsServer.start({ config }))
  }

  /** The client of the current account. */
  get client(): NatsConnection {
    return this.#current.client
  }

  get manager(): JetStreamManager {
    return this.#current.manager
  }

  /** The defaults of the service, except for a shorter wait at the start. */
  options(overrides: Partial<NatsOptions> = {}): NatsOptions {
    return {
      servers: [this.server.address],
      auth: { user: this.#current.user, password },
      replicas: 1,
      isSynced: false,
      intake: defaultIntakeOptions,
      routing: sampleRouting,
      stream: "svc",
      prefix: "svc",
      aggregateHeader: "aggregateId",
      syncSetting: "SYNC=always",
      clientName: "suite",
      publishTimeoutMs: 10_000,
      connectTimeoutMs: 5_000,
      ...overrides,
    }
  }

  /** A bus on the current account. */
  bus(overrides: Partial<NatsOptions> = {}): BrokerLayer {
    return NatsBus.layer(this.options(overrides))
  }

  /** A bus on a new, empty account. */
  freshBus(intake: IntakeOptions): BrokerLayer {
    return Layer.unwrap(
      Effect.map(
        Effect.promise(() => this.renew()),
        () => this.bus({ intake }),
      ),
    )
  }

  async proxied(): Promise<ProxiedBroker> {
    const network = await TcpProxy.before(this.server)
    return new ProxiedBroker(network, (overrides) => this.bus({ ...overrides, servers: [network.address] }))
  }

  kill9(): Promise<void> {
    return this.server.kill9()
  }

  restart(): Promise<void> {
    return this.server.restart()
  }

  /** Switches to a new, empty account. */
  async renew(): Promise<void> {
    await this.#account?.client.close()
    if (this.#accountsUsed === accounts) throw new Error(`all ${accounts} accounts are used`)
    const user = `user-${this.#accountsUsed++}`
    const client = await connect({
      servers: this.server.address,
      user,
      pass: password,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
      reconnectJitter: 0,
    })
    this.#account = { user, client, manager: await jetstreamManager(client) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#account?.client.close()
    await this.server[Symbol.asyncDispose]()
  }

  get #current(): Account {
    if (this.#account === undefined) throw new Error("the rig has no account yet: renew it first")
    return this.#account
  }
}

interface Account {
  readonly user: string
  readonly client: NatsConnection
  readonly manager: JetStreamManager
}

const password = "rig"

const accountsConfig = `accounts {${Array.from(
  { length: accounts },
  (_, index) =>
    `account-${index} { jetstream: enabled, users: [ { user: "user-${index}", password: "${password}" } ] }`,
).join("\n")}}`
