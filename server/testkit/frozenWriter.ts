// A process that owns a shard and writes to it, for a test that freezes it in the middle of a write. Each line on stdin is
// the number of a round. The process then claims the shard again, prepares the keys of the round, says `ready`, waits for
// a line, writes, and says what it was told.
import { createInterface } from "node:readline"
import { Effect, ManagedRuntime } from "effect"
import { parseUrl } from "../src/ports/Adapter.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import { TimerStore } from "../src/ports/TimerStore.ts"
import { allStores } from "../src/stores/all.ts"
import { contendedPuts, shardOfRounds } from "./frozenRounds.ts"
import { cancelOf } from "./timers.ts"

const [url = "", shardCount = ""] = process.argv.slice(2)
const shards = Number(shardCount)
const parsed = parseUrl(allStores, url)
if (!("value" in parsed)) throw new Error(`the URL of the store ${parsed.problem}`)
const workerUrl = new URL("../src/stores/sqlite/worker.ts", import.meta.url)
const runtime = ManagedRuntime.make(parsed.value.open({ shards, workerUrl }))
const say = (word: string) => process.stdout.write(`${word}\n`)

const claimed = Effect.gen(function* () {
  const leases = yield* ShardLeases
  const store = yield* TimerStore
  const free = (yield* leases.owners)[shardOfRounds]
  const lease = free && (yield* leases.claim(free, "frozen"))
  if (lease === undefined) return yield* Effect.die("the shard was not claimed")
  yield* store.open(lease.shard, lease.epoch)
  return { store, batch: { shard: lease.shard, epoch: lease.epoch } }
})

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const { unused, used } = contendedPuts(Number(line.value), shards)
  const { store, batch } = await runtime.runPromise(claimed)
  const { put, before } = used
  for (const item of [before, cancelOf(before.timer)]) {
    await runtime.runPromise(store.write([{ ...batch, items: [item] }]))
  }
  say("ready")
  await lines.next()
  const answer = await runtime.runPromise(
    Effect.match(store.write([{ ...batch, items: [unused, put] }]), {
      onSuccess: ([answered]) => answered?.result ?? "nothing",
      onFailure: () => "unknown",
    }),
  )
  say(answer)
}
await runtime.dispose()
