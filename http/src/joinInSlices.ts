// Writes a long JSON array without holding the engine's thread for long.
import { nextTurn } from "@punctual/api/nextTurn"

/** A list with at most this many items is written at once. */
const shortItems = 64
/** After this many items or characters, other work has a turn. */
const itemsPerSlice = 256
const charsPerSlice = 512 * 1024

/** The texts of all items, separated by commas. A short list is written at once. */
export const joinInSlices = <A>(
  items: ReadonlyArray<A>,
  write: (item: A) => string,
  pause: () => Promise<void> = nextTurn,
): string | Promise<string> =>
  items.length <= shortItems ? items.map(write).join(",") : joinLong(items, write, pause)

const joinLong = async <A>(
  items: ReadonlyArray<A>,
  write: (item: A) => string,
  pause: () => Promise<void>,
): Promise<string> => {
  let text = ""
  let pausedAt = 0
  let itemsWritten = 0
  for (const item of items) {
    text += text === "" ? write(item) : `,${write(item)}`
    itemsWritten++
    if (itemsWritten === itemsPerSlice || text.length - pausedAt >= charsPerSlice) {
      pausedAt = text.length
      itemsWritten = 0
      await pause()
    }
  }
  return text
}
