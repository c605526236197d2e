// Compares the index of words with the rows. A scan by a word finds exactly the rows that have the word, at their
// places.
import { expect } from "bun:test"
import { Effect } from "effect"
import { wordOfCorrelation, wordOfTag } from "../src/domain/words.ts"
import type { Scan, ScannedHead, ShardStorage } from "../src/ports/ShardStorage.ts"

const states = ["pending", "delivered", "cancelled", "dead"] as const

/** More rows than any test has in one state. */
const limit = 1_000

/** Checks each word of all rows of the namespace, in both directions. `others` are words that rows may have had. */
export const expectWordsAgree = Effect.fnUntraced(function* (
  storage: ShardStorage["Service"],
  namespace: string,
  others: ReadonlyArray<string> = [],
) {
  for (const state of states) {
    const base = { namespace, isDescending: false, limit, ...(state === "pending" ? {} : { state }) }
    const order = state === "pending" ? "pendingId" : "finishedId"
    const rows = (yield* pageOf(storage, { ...base, order })).filter((head) => head.state === state)
    const words = new Set([...others, ...rows.flatMap(wordsOfHead)])
    for (const word of words) {
      const scan: Scan = { ...base, order: "word", word }
      const expected = rows.filter((head) => wordsOfHead(head).includes(word)).map(placed)
      const found = (yield* pageOf(storage, scan)).map(placed)
      expect([state, word, found]).toEqual([state, word, expected.sort(byPlace)])
      const backwards = yield* pageOf(storage, { ...scan, isDescending: true })
      expect(backwards.map(placed)).toEqual(found.toReversed())
      if (storage.count !== undefined) expect(yield* storage.count([scan], limit)).toBe(found.length)
    }
  }
})

const pageOf = (storage: ShardStorage["Service"], scan: Scan) =>
  Effect.map(storage.scan([scan]), ([page = []]) => page)

const wordsOfHead = ({ tags = [], correlationId }: ScannedHead): ReadonlyArray<string> => {
  const word = wordOfCorrelation(correlationId)
  return [...tags.map(wordOfTag), ...(word === undefined ? [] : [word])]
}

type Placed = readonly [atMs: number, fireId: string, timerId: string, revision: number]

const placed = ({ atMs, fireId, timerId, revision }: ScannedHead): Placed => [atMs, fireId, timerId, revision]

const byPlace = (a: Placed, b: Placed): number => a[0] - b[0] || (a[1] < b[1] ? -1 : 1)
