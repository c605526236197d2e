import { Dialog } from "../kit/Dialog.tsx"

const shortcuts = [
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
] as const

export const ShortcutHelp = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keyboard" onClose={onClose}>
    <dl className="shortcuts">
      {shortcuts.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            {keys.split("  ").map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
)
