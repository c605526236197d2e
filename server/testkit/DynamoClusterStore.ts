// DynamoDB Local as the database of a cluster. It keeps its data in files, so that it can be killed. Its contents are
// read from the tables themselves, without the adapter.
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import type { DynamoTables } from "@punctual/aws/DynamoTables"
import { emptyTally, type Tally } from "../src/domain/Decision.ts"
import { tablesAt } from "../src/stores/dynamodb/DynamoStore.ts"
import type { ClusterStore, ClusterStoreKind, StoredLease } from "./ClusterStore.ts"
import { DynamoServer, dynamoMissing } from "./DynamoServer.ts"
import { placeOf } from "./dynamodb.ts"
import type { StoreContents, StoredLife } from "./History.ts"

const prefix = "cluster"

export class DynamoClusterStore implements ClusterStore {
  /** The adapter's default. */
  readonly shards = 64
  /** DynamoDB Local has one writer, and 64 shards are swept. */
  readonly requestsPerSecond = 40
  readonly pollingInterval = "2s"
  readonly #server: DynamoServer
  readonly #tables: DynamoTables

  private constructor(server: DynamoServer) {
    this.#server = server
    this.#tables = tablesAt(placeOf(server.url()))
  }

  static get kind(): ClusterStoreKind {
    return {
      title: "DynamoDB",
      missing: dynamoMissing(),
      start: DynamoClusterStore.start,
      takesCreatesWithoutOwner: true,
    }
  }

  static async start(this: void): Promise<DynamoClusterStore> {
    return new DynamoClusterStore(await DynamoServer.start({ keepsData: true }))
  }

  get host(): string {
    return this.#server.process.host
  }

  get port(): number {
    return this.#server.process.port
  }

  urlThrough(address: string): string {
    return this.#server.url(address, prefix)
  }

  kill9(): Promise<void> {
    return this.#server.process.kill9()
  }

  restart(): Promise<void> {
    return this.#server.process.restart()
  }

  async contents(): Promise<StoreContents> {
    const timers = (await this.#all("timers")).filter((item) => item["due"] !== undefined)
    const lives = (await this.#all("history")).filter(({ pk }) => String(pk).startsWith("L#"))
    const control = await this.#all("control")
    const tally: Record<string, number> = { ...emptyTally }
    for (const item of control) {
      if (!/^(?:fence|inserted)#/.test(String(item["pk"]))) continue
      for (const name of Object.keys(emptyTally)) tally[name] = (tally[name] ?? 0) + Number(item[name] ?? 0)
    }
    return {
      pending: timers.map((item) => ({
        ...identityOf(String(item["id"]), item),
        fireAtMs: Number(String(item["due"]).slice(1, 17)),
        ...(item["payload"] instanceof Uint8Array ? { payload: item["payload"] } : {}),
      })),
      finished: lives.map((item) => ({
        ...identityOf(`${item["namespace"]}/${item["timer_id"]}`, item),
        state: String(item["state"]) as StoredLife["state"],
      })),
      // All its names are counted above.
      tally: tally as unknown as Tally,
    }
  }

  async leases(): Promise<ReadonlyArray<StoredLease>> {
    const leases = await this.#tables.get({ table: `${prefix}-control`, key: { pk: "leases", sk: "-" } })
    return Array.from({ length: this.shards }, (_, shard) => {
      const node = leases?.[`n${shard}`]
      return {
        shard,
        epoch: Number(leases?.[`e${shard}`] ?? 0),
        node: typeof node === "string" ? node : null,
      }
    })
  }

  async #all(table: string): Promise<ReadonlyArray<DynamoItem>> {
    const items: Array<DynamoItem> = []
    let after: Awaited<ReturnType<DynamoTables["tablePage"]>>["next"]
    do {
      const page = await this.#tables.tablePage(`${prefix}-${table}`, undefined, after)
      items.push(...page.items)
      after = page.next
    } while (after !== undefined)
    return items
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}

const identityOf = (id: string, item: DynamoItem) => {
  const slash = id.indexOf("/")
  return {
    key: { namespace: id.slice(0, slash), timerId: id.slice(slash + 1) },
    fireId: String(item["fire_id"]),
    revision: Number(item["revision"]),
  }
}
