// PostgreSQL as the database of a cluster.
import type { ClusterStore, ClusterStoreKind, StoredLease } from "./ClusterStore.ts"
import type { StoreContents } from "./History.ts"
import { postgresBinaries } from "./PostgresBinaries.ts"
import { PostgresContents } from "./PostgresContents.ts"
import { PostgresServer } from "./PostgresServer.ts"

export class PostgresClusterStore implements ClusterStore {
  /** The service's default. */
  readonly shards = 16
  readonly #server: PostgresServer
  readonly #schema: string
  readonly #contents: PostgresContents

  private constructor(server: PostgresServer) {
    this.#server = server
    this.#schema = server.database().schema
    this.#contents = new PostgresContents(server.url, this.#schema)
  }

  static get kind(): ClusterStoreKind {
    const binaries = postgresBinaries("installed")
    return {
      title: "PostgreSQL",
      missing: "missing" in binaries ? binaries.missing : undefined,
      start: PostgresClusterStore.start,
      takesCreatesWithoutOwner: true,
    }
  }

  static async start(this: void): Promise<PostgresClusterStore> {
    return new PostgresClusterStore(await PostgresServer.start("installed"))
  }

  get host(): string {
    return this.#server.host
  }

  get port(): number {
    return this.#server.port
  }

  urlThrough(address: string): string {
    return `postgres://postgres@${address}/postgres?schema=${this.#schema}`
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
