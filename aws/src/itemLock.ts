// A lock for work that one process must do. It is an item that its holder keeps changing. A waiting process takes the lock
// over if the item stays the same for a while by its own clock, because then its holder has died.
import type { DynamoTables, ItemPlace } from "./DynamoTables.ts"

const watchEveryMs = 200
/** A holder changes the item at least this often, so a silent one has died. */
const silentMs = 20_000

/** Waits for the lock, and returns a function that gives it back. */
export const lockItem = async (tables: DynamoTables, place: ItemPlace): Promise<() => Promise<void>> => {
  const holder = crypto.randomUUID()
  let [seen, since]: [string, number] = ["", performance.now()]
  for (;;) {
    const isTaken = await tables.put(place.table, { ...place.key, holder, beat: 0 }, (expression) =>
      expression.lacks("pk"),
    )
    if (isTaken) break
    const now = await tables.get(place)
    const text = `${now?.["holder"]} ${now?.["beat"]}`
    if (text !== seen) [seen, since] = [text, performance.now()]
    else if (performance.now() - since > silentMs)
      await tables.delete(
        place,
        (expression) =>
          `${expression.equals("holder", now?.["holder"])} AND ${expression.equals("beat", now?.["beat"])}`,
      )
    await pause(watchEveryMs)
  }
  const isOwn = (expression: { equals(name: string, value: string): string }) =>
    expression.equals("holder", holder)
  const beating = setInterval(() => {
    tables.update(place, { add: { beat: 1 } }, isOwn).catch(() => {})
  }, silentMs / 10)
  return async () => {
    clearInterval(beating)
    await tables.delete(place, isOwn)
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
