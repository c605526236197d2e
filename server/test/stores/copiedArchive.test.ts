// Archives that are copies: of a database that says whether it was written meanwhile, and of one that cannot.
import { expect, test } from "bun:test"
import type { DocumentCalls } from "@punctual/documents/DocumentRow"
import { Effect } from "effect"
import { type CopiedRows, copiedArchive } from "../../src/stores/copiedArchive.ts"
import { sampleTimer } from "../../testkit/timers.ts"

const documents: DocumentCalls = {
  write: () => Promise.resolve(undefined),
  get: () => Promise.resolve(undefined),
  list: () => Promise.resolve([]),
  changesAfter: () => Promise.resolve([]),
}

const place = { shown: "the store", explain: (error: unknown) => new Error(String(error)) }

/** A store with one timer. `states` are what it says about itself, one after the other. */
const storeWith = (states: ReadonlyArray<string>): { copies: number } & CopiedRows<undefined> => {
  let asked = 0
  return {
    copies: 0,
    async *pages() {
      this.copies++
      // Each copy finds another timer, so a mix of two copies would show.
      const timer = sampleTimer({ timerId: `copy-${this.copies}` })
      yield [{ item: { kind: "pending", timer }, shard: 0 }]
    },
    state: () => Promise.resolve(states[Math.min(asked++, states.length - 1)] ?? ""),
  }
}

const opened = (store: CopiedRows<undefined>) =>
  copiedArchive(place, store, documents, undefined, { version: 1, shards: 1 })

test("a store that was written while it was copied is copied again, and nothing of the first copy stays", async () => {
  const store = storeWith(["before", "after"])
  const page = await Effect.runPromise(
    Effect.scoped(Effect.flatMap(opened(store), (archive) => archive.page(undefined, 10))),
  )
  expect(store.copies).toBe(2)
  expect(page.items.map((item) => item.kind === "pending" && item.timer.timerId)).toEqual(["copy-2"])
})

test("a store that is written all the time is refused, and the error says what to do", async () => {
  const store = storeWith(Array.from({ length: 10 }, (_, index) => String(index)))
  const failure = await Effect.runPromise(Effect.scoped(Effect.flip(opened(store))))
  expect(store.copies).toBe(5)
  expect(failure.message).toBe(
    "the store was written while it was read, 5 times: stop the services, then export again.",
  )
})
