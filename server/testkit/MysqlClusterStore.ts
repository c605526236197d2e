// MySQL, MariaDB and TiDB as the database of a cluster.
import { AdapterContents } from "./AdapterContents.ts"
import type { ClusterStore, ClusterStoreKind, StoredLease } from "./ClusterStore.ts"
import type { StoreContents } from "./History.ts"
import { type MysqlDatabase, type MysqlFlavour, MysqlServer, mysqlBinaries } from "./MysqlServer.ts"

export class MysqlClusterStore implements ClusterStore {
  /** The service's default. */
  readonly shards = 16
  /** The one-process build of TiDB is much slower than a cluster of TiDB. */
  readonly requestsPerSecond?: number
  readonly #server: MysqlServer
  readonly #database: MysqlDatabase
  readonly #contents: AdapterContents

  private constructor(server: MysqlServer, database: MysqlDatabase, flavour: MysqlFlavour) {
    if (flavour === "tidb") this.requestsPerSecond = 40
    this.#server = server
    this.#database = database
    this.#contents = new AdapterContents(database.url, this.shards)
  }

  static kind(flavour: MysqlFlavour): ClusterStoreKind {
    const binaries = mysqlBinaries(flavour)
    return {
      title: flavour,
      missing: "missing" in binaries ? binaries.missing : undefined,
      start: async () => {
        await using started = new AsyncDisposableStack()
        const server = started.use(await MysqlServer.start(flavour))
        const store = new MysqlClusterStore(server, await server.database(), flavour)
        started.move()
        return store
      },
      takesCreatesWithoutOwner: true,
    }
  }

  get host(): string {
    return this.#server.process.host
  }

  get port(): number {
    return this.#server.process.port
  }

  urlThrough(address: string): string {
    return this.#server.urlOf(this.#database.name, address)
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
