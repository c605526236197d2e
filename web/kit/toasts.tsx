/** Short messages about what an action did. They disappear by themselves, and screen readers read them. */
import { type ReactNode, useSyncExternalStore } from "react"
import { Button } from "./Button.tsx"

interface Toast {
  readonly id: number
  readonly text: string
  readonly isBad: boolean
}

const shownMs = 6_000
const toastsMax = 4

let toasts: ReadonlyArray<Toast> = []
let nextId = 1
const listeners = new Set<() => void>()

const change = (next: ReadonlyArray<Toast>): void => {
  toasts = next
  for (const listener of listeners) listener()
}

const remove = (id: number): void => change(toasts.filter((toast) => toast.id !== id))

export const toast = (text: string, isBad = false): void => {
  const id = nextId++
  change([...toasts, { id, text, isBad }].slice(-toastsMax))
  // Bad news stays until the reader closes it.
  if (!isBad) setTimeout(() => remove(id), shownMs)
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** `children`: messages that stay as long as what they say is true. */
export const Toasts = ({ children }: { readonly children?: ReactNode }) => (
  <div className="toasts" role="status" aria-live="polite">
    {children}
    {useSyncExternalStore(subscribe, () => toasts).map(({ id, text, isBad }) => (
      <div key={id} className={isBad ? "toast toast-bad" : "toast"}>
        <span>{text}</span>
        <Button look="quiet" icon="close" label="Close this message" isSmall onClick={() => remove(id)} />
      </div>
    ))}
  </div>
)
