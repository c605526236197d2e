// What a suite needs from an adapter, and the small steps that its laws are made of.
import { expect, test } from "bun:test"
import type { Documents } from "@punctual/documents/Documents"
import { Effect, type Layer } from "effect"
import type { Timer } from "../src/domain/Timer.ts"
import { shardOf } from "../src/domain/TimerKey.ts"
import {
  type InsertAnswer,
  keyOfItem,
  type Put,
  type WriteAnswer,
  type WriteItem,
} from "../src/domain/WriteItem.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import { type ListPage, type ListQuery, type ShardBatch, TimerStore } from "../src/ports/TimerStore.ts"
import { fillsSlowStores } from "./effort.ts"
import type { RowDamage } from "./RowDamage.ts"
import { samplePut } from "./timers.ts"

export type Store = TimerStore | ShardLeases | Documents

export interface StoreFixture {
  readonly name: string
  /** Why the store accepts no inserts without an owner, if that is so. */
  readonly insertsSkipped?: string
  /** The store needs tens of seconds to write ten thousand timers. */
  readonly writesSlowly?: true
  /** A layer that makes a new, empty store and leaves nothing behind. */
  fresh(options: { readonly shards: number }): Layer.Layer<Store, unknown>
  /** Like `fresh`, and the test can change its rows without the store. */
  damageable(options: { readonly shards: number }): Layer.Layer<Store | RowDamage, unknown>
  /** Two layers over the same data, opened one after the other, or the reason why there are none. */
  readonly reopened:
    | ((options: { readonly shards: number }) => {
        readonly first: Layer.Layer<Store, unknown>
        readonly second: Layer.Layer<Store, unknown>
        readonly dispose: () => void
      })
    | { readonly skipped: string }
}

/** A test of a law. Its body runs with a store of its own. */
export const lawsOf =
  (fixture: StoreFixture) =>
  (title: string, body: () => Effect.Effect<void, unknown, Store>, shards = 4): void => {
    test(title, () =>
      Effect.runPromise(body().pipe(Effect.provide(fixture.fresh({ shards })), Effect.scoped)),
    )
  }

/** A test of a law about inserts without an owner. */
export const insertLawsOf =
  (fixture: StoreFixture): ReturnType<typeof lawsOf> =>
  (title, body, shards) => {
    if (fixture.insertsSkipped === undefined) lawsOf(fixture)(title, body, shards)
    else test.skip(`${title} (skipped: ${fixture.insertsSkipped})`, () => {})
  }

/** A test of a law that needs ten thousand timers. On a store that writes slowly, only the matrix checks it. */
export const manyTimersLawsOf =
  (fixture: StoreFixture): ReturnType<typeof lawsOf> =>
  (title, body, shards) => {
    if (fixture.writesSlowly !== true || fillsSlowStores) lawsOf(fixture)(title, body, shards)
    else test.skip(`${title} (skipped: only npm run test:matrix writes 10,000 timers here)`, () => {})
  }

/** Claims every shard for one node and returns a `write` that sends items to their shards. */
export const owned = Effect.gen(function* () {
  const store = yield* TimerStore
  const leases = yield* ShardLeases
  const owners = yield* leases.owners
  const epochs: Array<number> = []
  for (const lease of owners) {
    const claimed = yield* leases.claim(lease, "node-1")
    epochs[lease.shard] = claimed?.epoch ?? Number.NaN
  }
  const batchOf = (shard: number, items: ReadonlyArray<WriteItem>): ShardBatch => ({
    shard,
    epoch: epochs[shard] ?? Number.NaN,
    items,
  })
  const write = Effect.fnUntraced(function* (items: ReadonlyArray<WriteItem>) {
    const byShard = new Map<number, Array<number>>()
    items.forEach((item, index) => {
      const shard = shardOf(keyOfItem(item).uuid, owners.length)
      byShard.set(shard, [...(byShard.get(shard) ?? []), index])
    })
    const groups = [...byShard]
    const batches = groups.map(([shard, indexes]) =>
      batchOf(
        shard,
        indexes.map((index) => at(items, index)),
      ),
    )
    const answered = yield* store.write(batches)
    const answers: Array<WriteAnswer> = []
    answered.forEach((batch, group) => {
      if (batch.result !== "written") throw new Error(`batch ${group} was answered ${batch.result}`)
      at(groups, group)[1].forEach((index, position) => {
        answers[index] = at(batch.answers, position)
      })
    })
    return answers
  })
  return {
    store,
    leases,
    epochs,
    write,
    batchOf,
    shardOf: (timer: Timer) => shardOf(timer.uuid, owners.length),
    /** A create of a key that belongs to the shard. */
    putIn: (shard: number): Put => {
      for (;;) {
        const put = samplePut()
        if (shardOf(put.timer.uuid, owners.length) === shard) return put
      }
    },
  }
})

/** All pages of a list. `between` runs after each page. */
export const walkList = Effect.fnUntraced(function* <E = never>(
  query: ListQuery,
  between: (page: number) => Effect.Effect<unknown, E> = () => Effect.void,
) {
  const store = yield* TimerStore
  const pages: Array<ListPage> = []
  let cursor: string | undefined
  do {
    const page: ListPage = yield* store.list({ ...query, ...(cursor === undefined ? {} : { cursor }) })
    expect(page.items.length).toBeLessThanOrEqual(query.limit)
    pages.push(page)
    cursor = page.next
    yield* between(pages.length)
  } while (cursor !== undefined && pages.length < 1_000)
  return pages
})

export const idsOf = (pages: ReadonlyArray<ListPage>): ReadonlyArray<string> =>
  pages.flatMap((page) =>
    page.items.map((listed) => (listed.state === "pending" ? listed.timer.timerId : listed.life.timerId)),
  )

/** The element, or an error that says what is missing. */
export const at = <T>(items: ReadonlyArray<T>, index: number): T => {
  const item = items[index]
  if (item === undefined) throw new Error(`nothing at ${index} of ${items.length}`)
  return item
}

/** The timer that an answer contains. */
export const timerIn = (answer: InsertAnswer | undefined): Timer => {
  if (answer !== undefined && "timer" in answer) return answer.timer
  if (answer !== undefined && "next" in answer && answer.next !== undefined) return answer.next
  throw new Error(`no timer in ${JSON.stringify(answer)}`)
}
