// Several real nodes on one real database server, by default PostgreSQL. Each node has a network of its own. A target receives their
// webhooks, and a client goes from one node to the next. The harness carries out what happens to the nodes (kill,
// freeze, cut, drain), so that tests only say when, and assert. When the harness is disposed, it ends every process
// that still runs.
import { keyOf, shardOf as shardOfUuid } from "../src/domain/TimerKey.ts"
import type { ClusterStore, StoredLease } from "./ClusterStore.ts"
import { eventuallyAnswered } from "./eventually.ts"
import { HistoryRecorder, type Key, type StoreContents } from "./History.ts"
import { checkInvariants, describeViolations } from "./InvariantChecker.ts"
import { PostgresClusterStore } from "./PostgresClusterStore.ts"
import { Receiver, type ReceiverOptions } from "./Receiver.ts"
import { type Exchange, RecordingClient } from "./RecordingClient.ts"
import { fromSource, type Program, ServiceProcess } from "./ServiceProcess.ts"
import { TcpProxy } from "./TcpProxy.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

export interface ClusterHarnessOptions {
  readonly nodes?: number
  /** Starts the server that the nodes share; by default PostgreSQL. */
  readonly store?: () => Promise<ClusterStore>
  readonly settings?: Readonly<Record<string, string>>
  readonly reply?: ReceiverOptions["reply"]
  /** The program that the nodes run at first; by default the sources. */
  readonly program?: Program
}

export const clusterSecret = "a-secret-that-all-nodes-of-the-test-know"
/**
 * Longer than a node needs to answer that it cannot serve. The client gives up only nodes that do not answer at all.
 */
const clientTimeoutMs = 8_000
const probeEveryMs = 100
/** As rarely as a node looks at the leases. On Cassandra each look disturbs claims and renewals. */
const looksApartMs = 250
const probeTimeoutMs = 500

interface NodeParts {
  readonly name: string
  readonly process: ServiceProcess
  readonly network: TcpProxy
  readonly recorder: HistoryRecorder
}

export class ClusterNode {
  readonly name: string
  readonly process: ServiceProcess
  /** The last probe got the answer that a load balancer expects. */
  isInRotation = false
  readonly #network: TcpProxy
  readonly #recorder: HistoryRecorder
  #isProbing = false

  constructor({ name, process, network, recorder }: NodeParts) {
    this.name = name
    this.process = process
    this.#network = network
    this.#recorder = recorder
  }

  get url(): string {
    return this.process.url
  }

  /** Ends the node without notice. */
  kill(): Promise<void> {
    return this.process.kill9()
  }

  /** Starts the node under its old name, on another port, and waits until it is ready. */
  start(program?: Program): Promise<void> {
    return this.process.start(program)
  }

  /** Asks the node to stop, waits until it has ended, and returns its exit code. */
  terminate(): Promise<number | undefined> {
    return this.process.terminate()
  }

  /** Stops the process wherever it is. */
  freeze(): void {
    this.#recorder.node("ownershipMoved", this.name)
    this.process.signal("SIGSTOP")
  }

  thaw(): void {
    this.process.signal("SIGCONT")
  }

  /** Cuts the node off from the database, but not from clients or other nodes. */
  cut(): void {
    this.#recorder.node("ownershipMoved", this.name)
    this.#network.cut()
  }

  /** The database gets the node's requests and carries them out, but the answers vanish. The connections stay open. */
  deafen(): void {
    this.#recorder.node("ownershipMoved", this.name)
    this.#network.blackholeFromServer()
  }

  /** Delays the bytes between node and database by this much, in each direction. */
  slow(delayMs: number): void {
    this.#network.slow(delayMs)
  }

  heal(): void {
    this.#network.heal()
  }

  /** Cuts the old connections, because connections that lost bytes cannot be used any more. */
  reconnect(): void {
    this.#network.cut()
    this.#network.heal()
  }

  /** Runs one probe at a time, because a late answer must not count as new. */
  async probe(path: string): Promise<void> {
    if (this.#isProbing) return
    this.#isProbing = true
    this.isInRotation = await isAnswered(`${this.url}${path}`)
    this.#isProbing = false
  }
}

/** The database of all nodes. A fault of it may move every shard once. */
class ClusterDatabase {
  readonly #server: ClusterStore
  readonly #recorder: HistoryRecorder

  constructor(server: ClusterStore, recorder: HistoryRecorder) {
    this.#server = server
    this.#recorder = recorder
  }

  /** Stops the server in good order, without waiting for its clients, and starts it again. */
  async restart(): Promise<void> {
    this.#recorder.node("ownershipMoved", "database")
    await this.#server.restart()
  }

  /** Ends all processes of the server at once, without notice. `start` recovers it. */
  async kill9(): Promise<void> {
    this.#recorder.node("ownershipMoved", "database")
    await this.#server.kill9()
  }

  async start(): Promise<void> {
    await this.#server.restart()
  }
}

export class ClusterHarness implements AsyncDisposable {
  readonly recorder: HistoryRecorder
  readonly receiver: Receiver
  readonly database: ClusterDatabase
  readonly nodes: ReadonlyArray<ClusterNode>
  /** Sends each request to the next node in rotation. */
  readonly client: RecordingClient
  /** Every request of the client, in the order in which the requests ended. */
  readonly exchanges: Array<Exchange> = []
  /** The key that the client sends. */
  apiKey: string | undefined
  readonly #store: ClusterStore
  readonly #stack: AsyncDisposableStack
  #turn = 0
  #probed = "/health/live"

  private constructor(
    recorder: HistoryRecorder,
    receiver: Receiver,
    store: ClusterStore,
    nodes: ReadonlyArray<ClusterNode>,
    stack: AsyncDisposableStack,
  ) {
    this.recorder = recorder
    this.receiver = receiver
    this.database = new ClusterDatabase(store, recorder)
    this.nodes = nodes
    this.#store = store
    this.#stack = stack
    this.client = new RecordingClient({
      recorder,
      url: () => this.#nextUrl(),
      timeoutMs: clientTimeoutMs,
      apiKey: () => this.apiKey,
      onExchange: (exchange) => this.exchanges.push(exchange),
    })
  }

  /** Returns when all nodes are ready and the shards are spread over them. */
  static async start(options: ClusterHarnessOptions = {}): Promise<ClusterHarness> {
    const stack = new AsyncDisposableStack()
    try {
      const recorder = new HistoryRecorder(() => Date.now())
      const folder = stack.use(new TemporaryFolder()).path
      const receiver = stack.use(await Receiver.listening({ recorder, ...replying(options.reply) }))
      const store: ClusterStore = stack.use(await (options.store ?? PostgresClusterStore.start)())
      const nodes: Array<ClusterNode> = []
      for (let number = 1; number <= (options.nodes ?? 3); number++) {
        const network = stack.use(await TcpProxy.before(store))
        const name = `node-${number}`
        const settings = {
          TIMER_STORE_URL: store.urlThrough(network.address),
          TIMER_SHARDS: String(store.shards),
          TIMER_CLUSTER_SECRET: clusterSecret,
          TIMER_NODE_NAME: name,
          // The sweep then finds and counts a timer that no window holds before the timer is much too late.
          TIMER_POLLING_INTERVAL: store.pollingInterval ?? "500ms",
          ...options.settings,
        }
        const { program = fromSource } = options
        const process = stack.use(new ServiceProcess({ folder, name, settings, recorder, program }))
        nodes.push(new ClusterNode({ name, process, network, recorder }))
      }
      const harness = new ClusterHarness(recorder, receiver, store, nodes, stack)
      await Promise.all(nodes.map((node) => node.start()))
      harness.#probeAlways()
      await harness.spread()
      return harness
    } catch (error) {
      await stack.disposeAsync()
      throw error
    }
  }

  node(number: number): ClusterNode {
    const node = this.nodes[number - 1]
    if (node === undefined) throw new Error(`there is no node ${number}`)
    return node
  }

  /** From now on the client calls only nodes that say they are ready, as a load balancer does. */
  balanceByReadiness(): void {
    this.#probed = "/health/ready"
  }

  /** Who holds which shard, as the database says. */
  leases(): Promise<ReadonlyArray<StoredLease>> {
    return this.#store.leases()
  }

  /** What the database holds. */
  contents(): Promise<StoreContents> {
    return this.#store.contents()
  }

  get shards(): number {
    return this.#store.shards
  }

  get requestsPerSecond(): number | undefined {
    return this.#store.requestsPerSecond
  }

  shardOf({ namespace, timerId }: Key): number {
    return shardOfUuid(keyOf(namespace, timerId).uuid, this.shards)
  }

  /** Waits until the shards are spread over these nodes as evenly as possible. */
  async spread(nodes: ReadonlyArray<ClusterNode> = this.nodes, withinMs = 120_000): Promise<void> {
    const { shards } = this
    const fewest = Math.floor(shards / nodes.length)
    await eventuallyAnswered(
      `the shards are spread over ${nodes.map(({ name }) => name).join(", ")}`,
      async () => {
        const leases = await this.leases()
        const counts = nodes.map(({ name }) => leases.filter(({ node }) => node === name).length)
        const total = counts.reduce((sum, count) => sum + count, 0)
        return total === shards && counts.every((count) => count - fewest <= 1) ? true : undefined
      },
      withinMs,
      looksApartMs,
    )
  }

  /** Asks all running nodes to stop, and returns their exit codes. */
  async terminateAll(): Promise<ReadonlyArray<number | undefined>> {
    const running = this.nodes.filter(({ process }) => process.pid !== undefined)
    return Promise.all(running.map((node) => node.terminate()))
  }

  /**
   * The checker's report on the run; empty if there is no violation. Call this when no node runs any more. Timers that
   * were due by `dueUntilMs` must not be pending any more.
   */
  async violations(dueUntilMs: number): Promise<string> {
    const final = await this.#store.contents()
    return describeViolations(
      checkInvariants({ events: this.recorder.events, final, dueUntilMs, shards: this.shards }),
    )
  }

  /** Everything that was recorded about the timers that the text names. It helps to find the cause of a failure. */
  storyOf(text: string): string {
    const { events } = this.recorder
    const asks = new Set<number>()
    return events
      .filter((event) => {
        if (event.kind === "answered") return asks.has(event.ask)
        if (event.kind === "replied") return false
        if (event.kind !== "asked" && event.kind !== "attempted") return true
        const { timerId } = event.kind === "asked" ? event.request.key : event.attempt.key
        const isNamed = text.includes(timerId)
        if (isNamed && event.kind === "asked") asks.add(event.ask)
        return isNamed
      })
      .map((event) => JSON.stringify(event, (name, value) => (name === "payload" ? undefined : value)))
      .join("\n")
  }

  /** The sum of the counter over all running nodes. */
  async total(metric: string): Promise<number> {
    const values = await Promise.all(this.nodes.map(({ process }) => process.metric(metric)))
    return values.reduce((sum, value) => sum + value, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  #nextUrl(): string {
    // A node has no address until it says where it listens.
    const known = this.nodes.filter(({ url }) => url !== "")
    const inRotation = known.filter((node) => node.isInRotation)
    const candidates = inRotation.length === 0 ? known : inRotation
    return candidates[this.#turn++ % candidates.length]?.url ?? ""
  }

  #probeAlways(): void {
    const probing = setInterval(() => {
      for (const node of this.nodes) void node.probe(this.#probed)
    }, probeEveryMs)
    this.#stack.defer(() => clearInterval(probing))
  }
}

const replying = (reply: ReceiverOptions["reply"]): Pick<ReceiverOptions, "reply"> =>
  reply === undefined ? {} : { reply }

const isAnswered = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}
