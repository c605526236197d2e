// A broker for the tests of one file, and a plain client that looks at it from outside. Each test gets an account
// of its own there, which is as good as a broker of its own: nothing has to be removed between tests. (A stream
// that is made just after one of its name was removed can find the old one's messages, on servers of 2.15.)

import { Effect, Layer, Logger } from "effect"
import {
  connect,
  type JetStreamManager,
  jetstreamManager,
  type NatsConnection,
} from "../../drivers/nats/nats.ts"
import type { Bus, BusError } from "../src/Bus.ts"
import { defaultIntakeOptions, type IntakeOptions } from "../src/Intake.ts"
import { NatsBus, type NatsOptions } from "../src/nats/NatsBus.ts"
import type { UndeliverableMessages } from "../src/UndeliverableMessages.ts"
import { sampleRouting } from "./BusFixture.ts"
import { NatsServer, type NatsServerOptions } from "./NatsServer.ts"

const accounts = 100

export class NatsRig implements AsyncDisposable {
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

  /** Of the account at hand. */
  get client(): NatsConnection {
    return this.#current.client
  }

  get manager(): JetStreamManager {
    return this.#current.manager
  }

  /** As the service has them by default, but for a shorter wait at the start. */
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

  /** A bus on the account as it is. */
  bus(overrides: Partial<NatsOptions> = {}): Layer.Layer<Bus | UndeliverableMessages, BusError> {
    return NatsBus.layer(this.options(overrides))
  }

  /** A bus on an account that has nothing yet. */
  freshBus(intake: IntakeOptions): Layer.Layer<Bus | UndeliverableMessages, BusError> {
    return Layer.unwrap(
      Effect.map(
        Effect.promise(() => this.renew()),
        () => this.bus({ intake }),
      ),
    )
  }

  /** From here on, an account that has nothing yet. */
  async renew(): Promise<void> {
    await this.#account?.client.close()
    if (this.#accountsUsed === accounts) throw new Error(`there are no more than ${accounts} accounts`)
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

/** A logger that keeps what is said, and the layer that makes it the only one. */
export const keptLogs = (): { readonly lines: Array<string>; readonly layer: Layer.Layer<never> } => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => {
    lines.push(Array.isArray(message) ? message.join(" ") : String(message))
  })
  return { lines, layer: Logger.layer([logger]) }
}
