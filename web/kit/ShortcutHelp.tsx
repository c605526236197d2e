import { Dialog } from "./Dialog.tsx"

/** Keys, with two blanks between them, and what they do. */
export type ShownShortcut = readonly [keys: string, what: string]

export interface ShortcutHelpProps {
  readonly shortcuts: ReadonlyArray<ShownShortcut>
  readonly onClose: () => void
}

export const ShortcutHelp = ({ shortcuts, onClose }: ShortcutHelpProps) => (
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
