/** The frame of every page: the entries of the product, and the switches that hold everywhere. */
import { useQueryClient } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Button } from "./Button.tsx"
import { Icon, type IconName } from "./Icon.tsx"
import { Link } from "./Link.tsx"
import { liveSetting } from "./live.ts"
import { Menu } from "./Menu.tsx"
import { useSetting } from "./Setting.ts"
import { type Action, useMay, useSelf } from "./self.ts"
import { call } from "./serviceCall.ts"
import { useShortcuts } from "./shortcuts.ts"
import { type Theme, themeSetting, themes } from "./theme.ts"
import { toast } from "./toasts.tsx"
import { ZonePicker } from "./ZonePicker.tsx"

export interface NavigationEntry {
  readonly page: string
  /** Its address, if the name of the page is not enough. */
  readonly href?: string
  readonly label: string
  readonly icon: IconName
  /** Pages that belong to this entry. */
  readonly also?: ReadonlyArray<string>
  /** How many of them need attention, and in words. */
  readonly count?: { readonly text: string; readonly title: string } | undefined
}

export interface NavigationProps {
  /** Of the product. */
  readonly name: string
  /** The first is the home of the product. */
  readonly entries: ReadonlyArray<NavigationEntry>
  readonly page: string
  /** A reader without this right may only look. */
  readonly writing: Action
  /** What concerns all pages of the product, below the entries. */
  readonly children?: ReactNode
  readonly onHelp: () => void
}

const themeIcons: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" }
const themeLabels: Readonly<Record<Theme, string>> = { system: "As the system", light: "Light", dark: "Dark" }

export const Navigation = ({ name, entries, page, writing, children, onHelp }: NavigationProps) => (
  <header className="side">
    <Link className="brand" href={entries[0]?.href ?? entries[0]?.page ?? "./"}>
      <img src={iconAddress()} alt="" width="24" height="24" />
      <span>{name}</span>
    </Link>
    <nav aria-label="Pages">
      {entries.map(({ page: target, href = target, label, icon, also = [], count }) => (
        <Link
          key={target}
          href={href}
          className="nav-entry"
          title={count?.title}
          aria-current={page === target || also.includes(page) ? "page" : undefined}
        >
          <Icon name={icon} />
          <span>{label}</span>
          {count !== undefined && (
            <span className="nav-count figures" aria-hidden="true">
              {count.text}
            </span>
          )}
        </Link>
      ))}
    </nav>
    {children}
    <div className="side-tools">
      <LiveSwitch />
      <ZonePicker />
      <ThemeMenu />
      <Button
        look="quiet"
        icon="help"
        aria-label="Help: keyboard shortcuts"
        title="Help (?)"
        onClick={onHelp}
      >
        <span className="side-word">Help</span>
      </Button>
    </div>
    <Reader writing={writing} />
  </header>
)

/** The icon of the page itself, whose name the build chooses. */
const iconAddress = (): string =>
  document.querySelector<HTMLLinkElement>("link[rel=icon]")?.getAttribute("href") ?? ""

const LiveSwitch = () => {
  const isLive = useSetting(liveSetting)
  const flip = () => liveSetting.set(!liveSetting.value)
  useShortcuts({ p: flip })
  return (
    <Button
      look="quiet"
      className="live-switch"
      icon={isLive ? "live" : "stopped"}
      aria-pressed={!isLive}
      title={
        isLive
          ? "The page shows changes by itself. Click to stop that (p). Timers fire in any case."
          : "The page shows no changes. Click to start updates (p). Timers fire in any case."
      }
      onClick={flip}
    >
      {isLive ? "Live" : "Updates stopped"}
    </Button>
  )
}

const ThemeMenu = () => {
  const theme = useSetting(themeSetting)
  return (
    <Menu
      look="quiet"
      icon={themeIcons[theme]}
      label="Theme"
      items={themes.map((choice) => ({
        label: themeLabels[choice],
        icon: themeIcons[choice],
        isChosen: choice === theme,
        onChoose: () => themeSetting.set(choice),
      }))}
    >
      <span className="side-word">Theme</span>
    </Menu>
  )
}

/** Who is signed in. Nothing while the service needs no key. */
const Reader = ({ writing }: Pick<NavigationProps, "writing">) => {
  const self = useSelf()
  const queries = useQueryClient()
  const may = useMay()
  if (self === undefined || !self.keysRequired) return null
  const signOut = async () => {
    try {
      await call("sessions/end")
      queries.clear()
      location.reload()
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), true)
    }
  }
  return (
    <div className="reader">
      <span>
        Signed in as <strong>{self.name}</strong>
        {!may(writing) && <span className="reader-note">may only look</span>}
      </span>
      <Button look="quiet" icon="out" label="Sign out" onClick={signOut} />
    </div>
  )
}
