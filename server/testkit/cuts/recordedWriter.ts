// A process that makes planned writes to an SQLite store, with the threads and merges of the real store, while its disk is
// recorded. After each answer it appends the number of the write to a file. In the end it kills itself in the
// middle of its work, or closes the store.
// bun recordedWriter.ts <path> <file of answers> <seed> <first write> <last write> <moves of a layer> <kill|close>
import { openSync, writeSync } from "node:fs"
import { Effect } from "effect"
import { SeededRandom } from "../SeededRandom.ts"
import { owned } from "../StoreFixture.ts"
import { sqliteAt } from "../sqlite.ts"
import { PlannedWrites } from "./PlannedWrites.ts"
import { quietEvery, quietMs, recordedItems, recordedShards } from "./recordedPlan.ts"

const [path = "", answersFile = "", seed, first, last, layerMoves, ending] = process.argv.slice(2)
const answers = openSync(answersFile, "a")

const writes = Effect.gen(function* () {
  const { write } = yield* owned
  const planned = new PlannedWrites(new SeededRandom(Number(seed)), recordedItems)
  for (let number = 1; number <= Number(last); number++) {
    const items = planned.next()
    if (number < Number(first)) continue
    yield* write(items)
    writeSync(answers, `${number}\n`)
    // Then the store moves its log into the file, and merges what it has.
    if (number % quietEvery === 0) yield* Effect.sleep(quietMs)
  }
  if (ending === "kill") process.kill(process.pid, "SIGKILL")
})

const store = sqliteAt(path, { shards: recordedShards, layerMoves: Number(layerMoves) })
await Effect.runPromise(writes.pipe(Effect.provide(store), Effect.scoped))
