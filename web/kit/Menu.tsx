/** A button that opens a list of actions. The browser's own popover closes it on Escape and on a click elsewhere. */
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react"
import { Button, type ButtonProps } from "./Button.tsx"
import { focusedFirst } from "./focusedFirst.ts"
import { Icon, type IconName } from "./Icon.tsx"

export interface MenuItem {
  readonly label: string
  readonly icon?: IconName
  readonly isDangerous?: boolean
  readonly isChosen?: boolean
  readonly onChoose: () => void
}

export interface MenuProps extends Pick<ButtonProps, "look" | "icon" | "label" | "isSmall"> {
  readonly children?: ReactNode
  readonly items: ReadonlyArray<MenuItem>
}

export const Menu = ({ items, children, ...button }: MenuProps) => {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLSpanElement>(null)
  const [isOpen, setOpen] = useState(false)
  const move = (event: KeyboardEvent) => {
    const entries = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])]
    const at = entries.findIndex((entry) => entry.matches(":focus"))
    const next: Readonly<Record<string, number>> = {
      ArrowDown: (at + 1) % entries.length,
      ArrowUp: (at - 1 + entries.length) % entries.length,
      Home: 0,
      End: entries.length - 1,
    }
    const target = next[event.key]
    // While a menu is open, keys belong to it.
    event.stopPropagation()
    if (target === undefined) return
    event.preventDefault()
    entries[target]?.focus()
  }
  const place = () => {
    const box = opener.current?.getBoundingClientRect()
    const menu = list.current
    if (box === undefined || menu === null) return
    const { offsetWidth: width, offsetHeight: height } = menu
    // A menu that has no room to the right ends where its button ends.
    menu.style.left = `${Math.max(8, box.left + width + 8 > innerWidth ? box.right - width : box.left)}px`
    menu.style.top = `${box.bottom + height + 4 > innerHeight && box.top > height ? box.top - height - 4 : box.bottom + 4}px`
  }
  return (
    <>
      <span ref={opener} className="menu-opener">
        <Button {...button} popoverTarget={id} aria-haspopup="menu" aria-expanded={isOpen}>
          {children}
        </Button>
      </span>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        className="menu"
        tabIndex={-1}
        onKeyDown={move}
        onToggle={({ newState }) => {
          setOpen(newState === "open")
          if (newState !== "open") return
          place()
        }}
      >
        {items.map(({ label, icon, isDangerous, isChosen, onChoose }, index) => (
          <button
            key={label}
            ref={index === 0 ? focusedFirst : undefined}
            type="button"
            role="menuitem"
            className={isDangerous ? "menu-item menu-danger" : "menu-item"}
            onClick={() => {
              list.current?.hidePopover()
              onChoose()
            }}
          >
            {icon !== undefined && <Icon name={icon} />}
            <span>{label}</span>
            {isChosen && <Icon name="check" />}
          </button>
        ))}
      </div>
    </>
  )
}
