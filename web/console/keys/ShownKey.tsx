/** The text of a key, once. */
import { Button } from "../../kit/Button.tsx"
import { CopyButton } from "../../kit/CopyButton.tsx"
import { Dialog } from "../../kit/Dialog.tsx"

export interface ShownKeyProps {
  readonly title: string
  readonly apiKey: string
  /** What else changes with it. */
  readonly note?: string
  readonly onDone: () => void
}

export const ShownKey = ({ title, apiKey, note, onDone }: ShownKeyProps) => (
  <Dialog
    title={title}
    actions={
      <Button look="primary" onClick={onDone}>
        I have copied it
      </Button>
    }
  >
    <p>
      <strong>Copy the key now.</strong> The service keeps only a hash of it, so nobody can show it again.
    </p>
    <div className="command-line key-text">
      <code>{apiKey}</code>
      <CopyButton text={apiKey} what="the key" />
    </div>
    {note !== undefined && <p className="note">{note}</p>}
    <p className="muted">
      Programs send it in the header <code>Authorization: Bearer …</code>. Commands read it from the variable{" "}
      <code>TIMER_API_KEY</code>, or from a file that <code>TIMER_API_KEY_FILE</code> names.
    </p>
  </Dialog>
)
