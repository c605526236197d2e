// MongoDB's protocol, spoken by FerretDB, as the database of a cluster.
import { AdapterContents } from "./AdapterContents.ts"
import type { ClusterStore, ClusterStoreKind, StoredLease } from "./ClusterStore.ts"
import { ferretBinaries } from "./FerretBinaries.ts"
import { FerretServer } from "./FerretServer.ts"
import type { StoreContents } from "./History.ts"

export class MongodbClusterStore implements ClusterStore {
  /** The service's default. */
  readonly shards = 16
  readonly requestsPerSecond = 20
  readonly #server: FerretServer
  readonly #url: string
  readonly #contents: AdapterContents

  private constructor(server: FerretServer) {
    this.#server = server
    this.#url = server.database()
    this.#contents = new AdapterContents(this.#url, this.shards)
  }

  static get kind(): ClusterStoreKind {
    const binaries = ferretBinaries()
    return {
      title: "MongoDB (FerretDB)",
      missing: "missing" in binaries ? binaries.missing : undefined,
      start: MongodbClusterStore.start,
      takesCreatesWithoutOwner: true,
    }
  }

  static async start(this: void): Promise<MongodbClusterStore> {
    return new MongodbClusterStore(await FerretServer.start())
  }

  get host(): string {
    return this.#server.host
  }

  get port(): number {
    return this.#server.port
  }

  urlThrough(address: string): string {
    return this.#url.replace(`${this.host}:${this.port}`, address)
  }

  kill9(): Promise<void> {
    return this.#server.kill9()
  }

  restart(): Promise<void> {
    return this.#server.restart()
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
