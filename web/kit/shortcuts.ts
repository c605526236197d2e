/** Keys that act on the whole page. They do nothing while the reader types or a dialog is open. */
import { useEffect, useRef } from "react"

export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"))

/** Enter and space belong to the button or link that has the focus. */
const isActivating = ({ key, target }: KeyboardEvent): boolean =>
  (key === "Enter" || key === " ") &&
  target instanceof HTMLElement &&
  target.closest("a, button, summary") !== null

/** The reader goes on by key, so the button that was pressed last must not take the next Enter. */
export const leaveControls = (): void => {
  if (document.activeElement !== document.body)
    document.getElementById("main")?.focus({ preventScroll: true })
}

export const useShortcuts = (shortcuts: Shortcuts): void => {
  const current = useRef(shortcuts)
  current.current = shortcuts
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || isActivating(event)) return
      if (document.querySelector("dialog[open], :popover-open") !== null) return
      const act = current.current[event.key]
      if (act === undefined) return
      event.preventDefault()
      act(event)
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
}
