/** The keys of the console, for its help. */
import type { ShownShortcut } from "../kit/ShortcutHelp.tsx"

export const shortcuts: ReadonlyArray<ShownShortcut> = [
  ["/", "Search"],
  ["j  k", "Next and previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["r  d", "Replay or discard the selected dead letters"],
  ["n", "New timer"],
  ["g", "Go to Timers"],
  ["p", "Stop or start live updates"],
  ["z", "Time zone"],
  ["?", "This help"],
  ["Esc", "Close, or clear the selection"],
]
