// Cassandra as the database of a cluster: one server that all nodes of the service share.
import { AdapterContents } from "./AdapterContents.ts"
import { CassandraServer, missingCassandra } from "./CassandraServer.ts"
import type { ClusterStore, ClusterStoreKind, StoredLease } from "./ClusterStore.ts"
import type { StoreContents } from "./History.ts"

export class CassandraClusterStore implements ClusterStore {
  /** The fewest that the store accepts: three nodes on two cores claim them in a second. */
  readonly shards = 64
  /** Each conditional batch waits for the disk several times, and the server has the cores of the nodes. */
  readonly requestsPerSecond = 40
  readonly #server: CassandraServer
  readonly #contents: AdapterContents

  private constructor(server: CassandraServer) {
    this.#server = server
    this.#contents = new AdapterContents(this.urlThrough(server.process.address), this.shards)
  }

  static get kind(): ClusterStoreKind {
    return {
      title: "Cassandra",
      missing: missingCassandra(),
      start: CassandraClusterStore.start,
      takesCreatesWithoutOwner: false,
    }
  }

  static async start(this: void): Promise<CassandraClusterStore> {
    await using started = new AsyncDisposableStack()
    const store = started.use(new CassandraClusterStore(await CassandraServer.start()))
    // A server that has just started takes long to create tables, and nodes must listen within half a minute.
    await store.leases()
    started.move()
    return store
  }

  get host(): string {
    return this.#server.process.host
  }

  get port(): number {
    return this.#server.process.port
  }

  urlThrough(address: string): string {
    return this.#server.url("cluster", address)
  }

  kill9(): Promise<void> {
    return this.#server.process.kill9()
  }

  restart(): Promise<void> {
    return this.#server.process.restart()
  }

  contents(): Promise<StoreContents> {
    return this.#contents.read()
  }

  leases(): Promise<ReadonlyArray<StoredLease>> {
    return this.#contents.leases()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#contents[Symbol.asyncDispose]()
    await this.#server[Symbol.asyncDispose]()
  }
}
