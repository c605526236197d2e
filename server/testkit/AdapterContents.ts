// What a store holds, read through its own adapter, for clusters on databases whose rows the test kit cannot read
// itself. The adapter's suites have proven these reads before.
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { parseUrl } from "../src/ports/Adapter.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import type { StoreChoice, StoreOpening, StoreServices } from "../src/ports/StoreAdapter.ts"
import type { ArchivePlace, TimerArchive } from "../src/ports/TimerArchive.ts"
import { TimerStore } from "../src/ports/TimerStore.ts"
import { allStores } from "../src/stores/all.ts"
import type { StoredLease } from "./ClusterStore.ts"
import type { StoreContents, StoredLife, StoredPending } from "./History.ts"

const pageRows = 500

export class AdapterContents implements AsyncDisposable {
  readonly #choice: StoreChoice
  readonly #opening: StoreOpening
  readonly #scope = Effect.runSync(Scope.make())
  #services: Promise<Context.Context<StoreServices>> | undefined

  constructor(url: string, shards: number) {
    const parsed = parseUrl(allStores, url)
    if (!("value" in parsed)) throw new Error(`the URL of the store ${parsed.problem}`)
    this.#choice = parsed.value
    const workerUrl = new URL("../src/stores/sqlite/worker.ts", import.meta.url)
    this.#opening = { shards, workerUrl, connections: "few" }
  }

  /** Reads everything. Meant for a time when no service writes any more. */
  async read(): Promise<StoreContents> {
    const { archive } = this.#choice
    if (!("can" in archive)) throw new Error(archive.instead)
    const tally = await Effect.runPromise(Context.get(await this.#opened(), TimerStore).tally)
    const rows = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(archive.can(this.#opening), (opened) => rowsOf(opened))),
    )
    return { ...rows, tally }
  }

  /** Who holds which shard, in the order of the shards. */
  async leases(): Promise<ReadonlyArray<StoredLease>> {
    const owners = await Effect.runPromise(Context.get(await this.#opened(), ShardLeases).owners)
    return owners.map(({ shard, epoch, node = null }) => ({ shard, epoch, node }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }

  /** Opened at the first read, because the nodes create the store. */
  #opened(): Promise<Context.Context<StoreServices>> {
    this.#services ??= Effect.runPromise(Layer.buildWithScope(this.#choice.open(this.#opening), this.#scope))
    return this.#services
  }
}

const rowsOf = (archive: TimerArchive) =>
  Effect.gen(function* () {
    const pending: Array<StoredPending> = []
    const finished: Array<StoredLife> = []
    let after: ArchivePlace | undefined
    do {
      const page = yield* archive.page(after, pageRows)
      for (const item of page.items) {
        const { namespace, timerId, fireId, revision } = item.kind === "pending" ? item.timer : item.life
        const identity = { key: { namespace, timerId }, fireId, revision }
        if (item.kind === "ended") finished.push({ ...identity, state: item.life.state })
        else {
          const { fireAt, payload } = item.timer
          pending.push({ ...identity, fireAtMs: fireAt, ...(payload === undefined ? {} : { payload }) })
        }
      }
      after = page.next
    } while (after !== undefined)
    return { pending, finished }
  })
