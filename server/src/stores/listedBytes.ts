// The size of a row of a list, so that a page can end before it is too large to read, to copy and to write as JSON.
import type { Listed } from "../ports/TimerStore.ts"
import { textOfSpec } from "./SpecText.ts"

/** Instants, numbers, and the names of fields. */
const otherBytes = 500

/** About as many bytes as the row has as JSON text. The payload counts if it was read. */
export const listedBytes = (item: Listed): number => {
  const row = item.state === "pending" ? item.timer : item.life
  const { namespace, timerId, correlationId, tags, attemptLog, spec, payload } = row
  const texts = JSON.stringify([namespace, timerId, correlationId, tags, attemptLog])
  const ownBytes = Buffer.byteLength(texts) + Buffer.byteLength(textOfSpec(spec))
  return otherBytes + ownBytes + (payload?.byteLength ?? 0)
}
