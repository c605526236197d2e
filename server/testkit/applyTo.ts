// Puts an item into a memory database without the knowledge of any node: no fence, no owner, no number.
import { decide } from "../src/domain/decide.ts"
import { keyOfItem, livesNamedBy, type WriteAnswer, type WriteItem } from "../src/domain/WriteItem.ts"
import { keyChangeOf } from "../src/stores/keyChangeOf.ts"
import type { MemoryDatabase } from "../src/stores/memory/MemoryDatabase.ts"

export const applyTo = (database: MemoryDatabase, shard: number, item: WriteItem): WriteAnswer => {
  const known = database.look({ key: keyOfItem(item), lives: livesNamedBy(item), withPayload: true })
  const decision = decide(item, known)
  const change = keyChangeOf(item, decision, known)
  if (change !== undefined && !database.change(shard, change)) throw new Error("the change missed")
  return decision.answer
}
