import type { ReactNode } from "react"
import { Dialog } from "./Dialog.tsx"

/** Keys, with two blanks between them, and what they do. */
export type ShownShortcut = readonly [keys: string, what: string]

export interface ShortcutHelpProps {
  readonly shortcuts: ReadonlyArray<ShownShortcut>
  readonly onClose: () => void
  /** What else the product explains. */
  readonly children?: ReactNode
}

export const ShortcutHelp = ({ shortcuts, onClose, children }: ShortcutHelpProps) => (
  <Dialog title="Help" onClose={onClose} isWide={children !== undefined}>
    <div className="help">
      <section>
        <h3>Keyboard</h3>
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
      </section>
      {children}
    </div>
  </Dialog>
)
