// The database that the nodes of a cluster share in a test: a real server that a test can kill and start again, and what
// it holds, for the checker.
import type { StoreContents } from "./History.ts"

export interface StoredLease {
  readonly shard: number
  readonly epoch: number
  /** Null if the shard is free. */
  readonly node: string | null
}

export interface ClusterStore extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** How many shards the store has. */
  readonly shards: number
  /** How many requests a second the server can take on a busy machine. Absent if the usual number is not too high. */
  readonly requestsPerSecond?: number
  /** How often the nodes sweep, if the server is too slow for the usual 500 ms in all its shards. */
  readonly pollingInterval?: string
  /** The URL of the store for a node that reaches the server through this address (host:port). */
  urlThrough(address: string): string
  /** Ends the server without notice. */
  kill9(): Promise<void>
  /** Starts the server again, on the same port and data. A server that runs is stopped first. */
  restart(): Promise<void>
  /** What the store holds. */
  contents(): Promise<StoreContents>
  /** Who holds which shard, in the order of the shards. */
  leases(): Promise<ReadonlyArray<StoredLease>>
}

/** A database on which clusters are tested. */
export interface ClusterStoreKind {
  /** The name of the database. */
  readonly title: string
  /** Why this machine cannot start the server. */
  readonly missing: string | undefined
  start(this: void): Promise<ClusterStore>
  /** Whether creates are stored while their shard has no owner. Otherwise they are refused until a node claims it. */
  readonly takesCreatesWithoutOwner: boolean
}
