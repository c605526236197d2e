// A separate process over an SQLite store that tests can kill. It claims every shard and writes this many timers. It
// prints the id of each acknowledged write on its standard output. Then it holds the store until it is killed or its
// standard input ends.
// bun sqliteNode.ts <path> <shards> <timers>
import { writeSync } from "node:fs"
import { Effect } from "effect"
import { owned } from "./StoreFixture.ts"
import { sqliteAt } from "./sqlite.ts"
import { samplePut } from "./timers.ts"

const [path = "", shards = "1", timers = "0"] = process.argv.slice(2)

const inputEnded = Effect.callback<void>((resume) => {
  process.stdin.once("end", () => resume(Effect.void)).resume()
})

const node = Effect.gen(function* () {
  const { write } = yield* owned
  writeSync(1, "claimed\n")
  for (let number = 0; number < Number(timers); number += 5) {
    const puts = Array.from({ length: 5 }, (_, index) => samplePut({ timerId: `t-${number + index}` }))
    yield* write(puts)
    writeSync(1, puts.map(({ timer }) => `${timer.timerId}\n`).join(""))
  }
  yield* inputEnded
})

await Effect.runPromise(node.pipe(Effect.provide(sqliteAt(path, { shards: Number(shards) })), Effect.scoped))
