// A timer whose body is missing. SQLite keeps timer and body in separate tables, and nothing in the file says that they
// belong together.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { beginning } from "../../../src/domain/DueOrder.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { editable, sqliteAt, temporaryFolder } from "../../../testkit/sqlite.ts"
import { cancelOf, putOf, sampleTimer } from "../../../testkit/timers.ts"

test("a timer without a body is unreadable, and delays no others", async () => {
  const folder = temporaryFolder()
  const [bad, good] = [sampleTimer(), sampleTimer()]
  const body = Effect.gen(function* () {
    const { store, write } = yield* owned
    yield* write([putOf(bad), putOf(good)])
    using database = editable(folder.database)
    database.run("DELETE FROM bodies WHERE id = (SELECT id FROM timers WHERE timer_id = ?)", [bad.timerId])
    const { pending } = yield* store.find(bad)
    expect(pending?.spec.unreadable).toBe("its body is missing")
    const everything = { shard: 0, exclusiveAfter: beginning, inclusiveUntilMs: bad.fireAt, limit: 10 }
    expect((yield* store.due(everything)).timers).toEqual([good])
    // So the sweep can find a row that is in no page.
    expect(yield* store.dueHeads(everything)).toHaveLength(2)
    expect(yield* write([cancelOf(bad), cancelOf(good)])).toMatchObject([
      { result: "unstorable", isUnreadable: true },
      { result: "cancelled" },
    ])
  })
  try {
    await Effect.runPromise(Effect.scoped(Effect.provide(body, sqliteAt(folder.database, { shards: 1 }))))
  } finally {
    folder.dispose()
  }
})
