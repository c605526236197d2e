// New timers are inserted without a look at the pending timers, while callers use new keys. A used key makes the insert
// fail. Then the same commit is sent again with the look, and the next commits look, too.
import { expect, test } from "bun:test"
import { nothingKnown } from "../../../src/domain/Decision.ts"
import { decide } from "../../../src/domain/decide.ts"
import type { Put } from "../../../src/domain/WriteItem.ts"
import { KeyCheck } from "../../../src/stores/KeyCheck.ts"
import { keyChangeOf } from "../../../src/stores/keyChangeOf.ts"
import { commitAll } from "../../../src/stores/postgres/Commits.ts"
import { connectionTo } from "../../../src/stores/postgres/connectionTo.ts"
import { openDatabase } from "../../../src/stores/postgres/openDatabase.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { samplePut } from "../../../testkit/timers.ts"

const creating = (put: Put) => {
  const change = keyChangeOf(put, decide(put, nothingKnown), nothingKnown)
  if (change === undefined) throw new Error("a create of an unused key changes nothing")
  return change
}

describePostgres("installed", "the check of new keys", () => {
  const server = serverForTests("installed")

  test("a used key costs one more call, misses as usual, and the next commits check from the start", async () => {
    const { place } = await openDatabase(server().database().url, 1)
    const sql = connectionTo(place)
    try {
      const keyCheck = new KeyCheck()
      let number = 0
      const commit = async (puts: ReadonlyArray<Put>) =>
        (
          await commitAll(
            sql,
            [{ shard: 0, epoch: 0, number: ++number, changes: puts.map(creating) }],
            keyCheck,
          )
        )[0]
      const created = async () => (await sql.unsafe("SELECT created::integer FROM shards"))[0].created
      const first = samplePut()
      expect(await commit([first])).toEqual({ result: "committed", missed: [], refused: [] })
      expect(keyCheck.isOn).toBe(false)

      const again: Put = { ...first, timer: { ...first.timer, fireId: samplePut().timer.fireId } }
      const another = samplePut()
      expect(await commit([again, another])).toEqual({ result: "committed", missed: [0], refused: [] })
      expect(keyCheck.isOn).toBe(true)
      expect(await created()).toBe(2)
      expect(await sql.unsafe("SELECT fire_id::text AS id FROM timers ORDER BY fire_id")).toEqual(
        expect.arrayContaining([{ id: first.timer.fireId }, { id: another.timer.fireId }]),
      )

      // With the check, the insert itself never fails.
      expect(await commit([again])).toEqual({ result: "committed", missed: [0], refused: [] })
      let clean = 0
      for (; keyCheck.isOn && clean < 1_000; clean++) await commit([samplePut()])
      expect(clean).toBe(100)
      expect(await created()).toBe(102)
    } finally {
      await sql.close({ timeout: 0 })
    }
  })
})
