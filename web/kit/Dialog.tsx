/**
 * A question or a form above the page. The browser's own element keeps the focus inside it and closes it with Escape.
 *
 * The button that changes nothing is called "Close" in every dialog (`CloseButton`), and it has the focus unless the
 * dialog gives the focus to a field. It is never called "Cancel", which is what readers do with timers.
 */
import { type ReactNode, useEffect, useId, useRef } from "react"
import { Button } from "./Button.tsx"

export interface DialogProps {
  readonly title: string
  /** Without it, the reader cannot close the dialog. */
  readonly onClose?: () => void
  readonly children: ReactNode
  /** Buttons at the end. */
  readonly actions?: ReactNode
  readonly isWide?: boolean
}

export const Dialog = ({ title, onClose, children, actions, isWide = false }: DialogProps) => {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    const focused = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      className={isWide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        // The owner closes the dialog. The browser must not close it alone.
        event.preventDefault()
        // React also tells it to the dialog around this one.
        if (event.target === event.currentTarget) onClose?.()
      }}
      onClose={({ target, currentTarget }) => {
        // Browsers close a dialog in spite of that if Escape is pressed twice.
        if (target !== currentTarget || !currentTarget.isConnected) return
        if (onClose === undefined) currentTarget.showModal()
        else onClose()
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        {onClose !== undefined && <Button look="quiet" icon="close" label="Close" onClick={onClose} />}
      </div>
      <div className="dialog-body">{children}</div>
      {actions !== undefined && <div className="dialog-actions">{actions}</div>}
    </dialog>
  )
}

/** Leaves the dialog and changes nothing. */
export const CloseButton = ({ onClick }: { readonly onClick: () => void }) => (
  <Button isFocusedFirst onClick={onClick}>
    Close
  </Button>
)
