/** The keys of the console, for its help. */
import type { ShownShortcut } from "../kit/ShortcutHelp.tsx"

export const shortcuts: ReadonlyArray<ShownShortcut> = [
  ["/", "Search"],
  ["j  k", "Next and previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["r  d", "Replay or discard what is selected, or else the row"],
  ["n", "New timer"],
  ["g", "Go to Timers"],
  ["1  2  3  4  5", "Timers, Dead letters, Namespaces, Status, Keys"],
  ["p", "Stop or start the updates of the page"],
  ["z", "Time zone"],
  ["?", "This help"],
  ["Esc", "Close, or clear the selection"],
]
