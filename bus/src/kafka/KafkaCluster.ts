// The connections to the brokers of one cluster. A broker answers the requests of a connection one after the other, so a
// request that waits at the broker (a fetch, a join) has a line of its own: a connection that nothing else uses.
//
// A connection that fails is dropped, and the next request opens another one. Nothing is sent twice here: the caller
// knows whether a request may be repeated. One more line only tells whether the cluster is reachable. It is opened again
// as soon as that is possible.
import { readFileSync } from "node:fs"
import { isIP } from "node:net"
import {
  type API,
  Connection,
  type ConnectionOptions,
  findCoordinatorV4,
  metadataV9,
  ResponseError,
} from "../../../drivers/kafka/kafka.ts"
import { KafkaRefusal, kafkaCodes, kafkaFailureText } from "./KafkaFailure.ts"
import type { KafkaAuth } from "./kafkaUrl.ts"
import { pause } from "./within.ts"

export interface KafkaConnectionSettings {
  /** Each `host:port`. */
  readonly servers: ReadonlyArray<string>
  readonly auth?: KafkaAuth
  /** Present if the connection must be encrypted. */
  readonly tls?: KafkaTlsFiles
  /** The name of this client at the broker. */
  readonly clientName: string
  /** The time limit for one connection. */
  readonly connectTimeoutMs: number
}

/** PEM files. */
export interface KafkaTlsFiles {
  /** The authority that signed the broker's certificate. Without it, the system's authorities are used. */
  readonly caFile?: string
  /** The certificate of this client and its private key, if the broker wants one. Both or none. */
  readonly certFile?: string
  readonly keyFile?: string
}

/** The broker that is asked, and the line on which. Without a broker, any broker answers. */
export interface BrokerLine {
  readonly nodeId?: number
  readonly line: string
  /** How long the answer may take. All requests on a line have the same limit. */
  readonly answerWithinMs?: number
}

const generalLine: BrokerLine = { line: "general" }
const watchLine: BrokerLine = { line: "watch" }
const answerWithinMs = 5_000
const firstPauseMs = 100
const longestPauseMs = 2_000
const topicsKnownMost = 10_000

export interface TopicFacts {
  readonly name: string
  readonly partitionCount: number
  readonly replicaCount: number
}

export class KafkaCluster {
  readonly #settings: KafkaConnectionSettings
  readonly #options: ConnectionOptions
  readonly #log: (message: string, isWarning: boolean) => void
  readonly #lines = new Map<string, Promise<Connection>>()
  readonly #brokers = new Map<number, string>()
  /** The broker that leads a partition, by `topic:partition`. */
  readonly #leaders = new Map<string, number>()
  readonly #coordinators = new Map<string, number>()
  #isConnected = false
  #isClosed = false

  private constructor(
    settings: KafkaConnectionSettings,
    options: ConnectionOptions,
    log: (message: string, isWarning: boolean) => void,
  ) {
    this.#settings = settings
    this.#options = options
    this.#log = log
  }

  /** Fails if no server is reachable, or if the cluster refuses the credentials. */
  static async open(
    settings: KafkaConnectionSettings,
    log: (message: string, isWarning: boolean) => void,
  ): Promise<KafkaCluster> {
    const cluster = new KafkaCluster(settings, connectionOptions(settings), log)
    try {
      await cluster.metadata([])
      cluster.#watch(await cluster.#connection(watchLine))
      return cluster
    } catch (error) {
      await cluster.close()
      throw error
    }
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** For messages. */
  get servers(): string {
    return this.#settings.servers.join(", ")
  }

  /** Asks once. The answer may contain error codes. The call fails if there is no answer. */
  async ask<Args extends Array<unknown>, Answer>(
    place: BrokerLine,
    { api }: { readonly api: API<Args, Answer> },
    ...args: Args
  ): Promise<Answer> {
    const connection = await this.#connection(place)
    try {
      return await api.async(connection, ...args)
    } catch (error) {
      if (error instanceof ResponseError) return error["response"]
      // After a missing answer the client can no longer tell which answer belongs to which request.
      this.#drop(place)
      throw error
    }
  }

  /** Any broker answers. */
  general<Args extends Array<unknown>, Answer>(
    call: { readonly api: API<Args, Answer> },
    ...args: Args
  ): Promise<Answer> {
    return this.ask(generalLine, call, ...args)
  }

  /** The topics that exist among the named ones, or all. Also learns the brokers and who leads which partition. */
  async metadata(topics: ReadonlyArray<string> | null): Promise<ReadonlyArray<TopicFacts>> {
    const answer = await this.general(metadataV9, topics === null ? null : [...topics], false, false)
    for (const { nodeId, host, port } of answer.brokers) this.#brokers.set(nodeId, `${host}:${port}`)
    if (this.#leaders.size > topicsKnownMost) this.#leaders.clear()
    return answer.topics.flatMap(({ name, errorCode, partitions }) => {
      if (name == null || errorCode === kafkaCodes.unknownTopic) return []
      if (errorCode !== 0 && errorCode !== kafkaCodes.leaderNotAvailable) {
        // Among all topics of the cluster there may be some that this user must not see.
        if (topics === null) return []
        throw new KafkaRefusal(errorCode, `the topic ${name}`)
      }
      for (const { partitionIndex, leaderId } of partitions) {
        this.#leaders.set(`${name}:${partitionIndex}`, leaderId)
      }
      return [
        { name, partitionCount: partitions.length, replicaCount: partitions[0]?.replicaNodes.length ?? 0 },
      ]
    })
  }

  /** Fails if the partition does not exist or has no leader now. */
  async leaderOf(topic: string, partition: number): Promise<number> {
    const known = this.#leaders.get(`${topic}:${partition}`)
    if (known !== undefined && known >= 0) return known
    await this.metadata([topic])
    const leader = this.#leaders.get(`${topic}:${partition}`)
    if (leader === undefined) throw new KafkaRefusal(kafkaCodes.unknownTopic, topic)
    if (leader < 0) throw new KafkaRefusal(kafkaCodes.leaderNotAvailable, topic)
    return leader
  }

  /** The next call of `leaderOf` asks the cluster again. */
  forgetLeader(topic: string, partition: number): void {
    this.#leaders.delete(`${topic}:${partition}`)
  }

  /** The first group of a cluster waits until the broker has made a place for groups. */
  async coordinatorOf(group: string): Promise<number> {
    const known = this.#coordinators.get(group)
    if (known !== undefined) return known
    const deadlineMs = performance.now() + answerWithinMs
    for (;;) {
      const { coordinators } = await this.general(findCoordinatorV4, groupKeyType, [group])
      const { nodeId, host, port, errorCode, errorMessage } = coordinators[0] ?? noCoordinator
      if (errorCode === 0) {
        this.#brokers.set(nodeId, `${host}:${port}`)
        this.#coordinators.set(group, nodeId)
        return nodeId
      }
      const mayCome =
        errorCode === kafkaCodes.coordinatorNotAvailable || errorCode === kafkaCodes.coordinatorLoading
      if (!mayCome || performance.now() > deadlineMs) throw new KafkaRefusal(errorCode, errorMessage)
      await pause(firstPauseMs)
    }
  }

  forgetCoordinator(group: string): void {
    this.#coordinators.delete(group)
  }

  /** Closes all lines whose names begin like this. */
  hangUp(line: string): void {
    for (const [name, opening] of this.#lines) {
      if (!name.startsWith(line)) continue
      this.#lines.delete(name)
      opening.then(
        (connection) => connection.close(),
        () => {},
      )
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const lines = [...this.#lines.values()]
    this.#lines.clear()
    await Promise.allSettled(lines.map(async (line) => (await line).close()))
  }

  #connection(place: BrokerLine): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(new Error("the bus is closed"))
    const name = nameOf(place)
    const known = this.#lines.get(name)
    if (known !== undefined) return known
    const opening = this.#open(place, name)
    this.#lines.set(name, opening)
    opening.catch(() => {
      if (this.#lines.get(name) === opening) this.#lines.delete(name)
    })
    return opening
  }

  async #open(place: BrokerLine, name: string): Promise<Connection> {
    const address = place.nodeId === undefined ? undefined : this.#brokers.get(place.nodeId)
    const addresses =
      address === undefined ? [...new Set([...this.#brokers.values(), ...this.#settings.servers])] : [address]
    let failure: unknown
    for (const candidate of addresses) {
      try {
        return await this.#connect(candidate, place, name)
      } catch (error) {
        failure = new Error(`${candidate}: ${kafkaFailureText(error)}`, { cause: error })
      }
    }
    throw failure
  }

  async #connect(address: string, place: BrokerLine, name: string): Promise<Connection> {
    const [, host = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? []
    const connection = new Connection(this.#settings.clientName, {
      ...this.#options,
      requestTimeout: place.answerWithinMs ?? answerWithinMs,
      // A certificate can name an address, but the name that is sent to the server cannot be one.
      ...(isIP(host) === 0 ? { tlsServerName: host } : {}),
    })
    connection.on("error", () => {})
    connection.once("close", () => void this.#forget(name, connection))
    try {
      await connection.connect(host, Number(port))
    } catch (error) {
      void connection.close()
      throw error
    }
    if (this.#isClosed) {
      void connection.close()
      throw new Error("the bus is closed")
    }
    return connection
  }

  async #forget(name: string, connection: Connection): Promise<void> {
    const current = this.#lines.get(name)
    if (current !== undefined && (await current.catch(() => undefined)) === connection) {
      this.#lines.delete(name)
    }
  }

  #drop(place: BrokerLine): void {
    const name = nameOf(place)
    const line = this.#lines.get(name)
    this.#lines.delete(name)
    line?.then(
      (connection) => connection.socket?.destroy(),
      () => {},
    )
  }

  #watch(connection: Connection): void {
    this.#isConnected = true
    connection.once("close", () => {
      this.#isConnected = false
      if (this.#isClosed) return
      this.#log(`the connection to Kafka at ${this.servers} is lost`, true)
      void this.#reconnect()
    })
  }

  /** Tries until the cluster answers, or until it is closed. */
  async #reconnect(): Promise<void> {
    for (let pauseMs = firstPauseMs; !this.#isClosed; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
      await pause(pauseMs)
      try {
        const connection = await this.#connection(watchLine)
        await this.metadata([])
        this.#log(`connected to Kafka at ${this.servers} again`, false)
        this.#watch(connection)
        return
      } catch {
        // The next round tries again.
      }
    }
  }
}

const groupKeyType = 0

const noCoordinator = {
  nodeId: -1,
  host: "",
  port: 0,
  errorCode: kafkaCodes.coordinatorNotAvailable,
  errorMessage: null,
}

const nameOf = ({ nodeId, line }: BrokerLine): string => `${line}@${nodeId ?? "any"}`

/** Throws if a file of the settings cannot be read. */
const connectionOptions = ({ auth, tls, connectTimeoutMs }: KafkaConnectionSettings): ConnectionOptions => ({
  connectTimeout: connectTimeoutMs,
  ...(auth === undefined
    ? {}
    : { sasl: { mechanism: auth.mechanism, username: auth.user, password: auth.password } }),
  ...(tls === undefined
    ? {}
    : {
        tls: {
          ...(tls.caFile === undefined ? {} : { ca: readFileSync(tls.caFile) }),
          ...(tls.certFile === undefined ? {} : { cert: readFileSync(tls.certFile) }),
          ...(tls.keyFile === undefined ? {} : { key: readFileSync(tls.keyFile) }),
        },
      }),
})
