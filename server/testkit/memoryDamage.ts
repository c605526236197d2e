// Damages rows of a memory database. These rows are not texts that could be cut. A damaged row therefore becomes the
// value that a store reads from a cut text.
import { Effect } from "effect"
import type { FinishedLife, Spec, Timer } from "../src/domain/Timer.ts"
import { shardOf } from "../src/domain/TimerKey.ts"
import type { MemoryDatabase } from "../src/stores/memory/MemoryDatabase.ts"
import { unreadableSpec } from "../src/stores/SpecText.ts"
import type { RowDamage } from "./RowDamage.ts"

export const damageInMemory = (database: MemoryDatabase): RowDamage["Service"] => ({
  damage: (row) => Effect.sync(() => setSpec(database, row, unreadableSpec("its spec is not JSON"))),
  repair: (row) => Effect.sync(() => setSpec(database, row, row.spec)),
})

const setSpec = (database: MemoryDatabase, row: Timer | FinishedLife, spec: Spec): void => {
  const base = { key: row, payload: "keep", tally: {} } as const
  const { fireId, revision: minRevision } = row
  const isDone = database.change(
    shardOf(row.uuid, database.shards.length),
    "fireAt" in row
      ? { ...base, expects: { pending: row }, pending: { ...row, spec } }
      : {
          ...base,
          expects: { life: { fireId, minRevision, state: row.state } },
          finished: { ...row, spec },
        },
  )
  if (!isDone) throw new Error(`there is no row of ${row.timerId} like this`)
}
