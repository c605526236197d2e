// Finds changes that DynamoDB would refuse, beyond what no store can hold (stores/whyUnstorable.ts): items above 400 KB.
// They are never sent, because one of them would fail its neighbours.
import { itemSize } from "@punctual/aws/DynamoItem"
import type { TimerKey } from "../../domain/Timer.ts"
import type { KeyChange } from "../../ports/ShardStorage.ts"
import { textOfSpec } from "../SpecText.ts"
import { canBeKey, whyUnstorable } from "../whyUnstorable.ts"
import { itemIdOf } from "./keys.ts"
import { mostItemBytes } from "./limits.ts"
import { attributesOfLife, attributesOfTimer } from "./rows.ts"

/** Why the change cannot be stored. `undefined` if it can. */
export const whyItemRefused = (change: KeyChange): string | undefined => {
  const { key, pending, finished } = change
  const why = whyUnstorable(change)
  if (why !== undefined) return why
  if (!isKey(key)) return "namespace: this store cannot hold an empty name or a name with a slash."
  const timer = pending
    ? { ...attributesOfTimer(pending), spec: textOfSpec(pending.spec), payload: pending.payload }
    : {}
  const life = finished ? attributesOfLife(finished) : {}
  const bytes = Math.max(itemSize(timer), itemSize(life)) + Buffer.byteLength(itemIdOf(key))
  return bytes <= mostItemBytes
    ? undefined
    : `The timer has ${bytes} bytes in total; an item of DynamoDB has at most ${mostItemBytes}. This limit is fixed.`
}

/** Whether anything can be stored under the key. If not, nothing can be found there. */
export const isKey = (key: TimerKey): boolean =>
  key.namespace !== "" && !key.namespace.includes("/") && canBeKey(key)
