import { useQueryClient } from "@tanstack/react-query"
import { Button } from "../kit/Button.tsx"
import { Icon, type IconName } from "../kit/Icon.tsx"
import { liveSetting } from "../kit/live.ts"
import { Menu } from "../kit/Menu.tsx"
import { useSetting } from "../kit/Setting.ts"
import { useShortcuts } from "../kit/shortcuts.ts"
import { type Theme, themeSetting, themes } from "../kit/theme.ts"
import { toast } from "../kit/toasts.tsx"
import { call } from "./api.ts"
import { Link } from "./Link.tsx"
import { hrefOf } from "./location.ts"
import type { PageName } from "./pageNames.ts"
import { useMay, useSelf } from "./self.ts"
import { ZonePicker } from "./ZonePicker.tsx"

interface Entry {
  readonly page: PageName
  readonly label: string
  readonly icon: IconName
  /** Pages that belong to this entry. */
  readonly also?: ReadonlyArray<PageName>
}

const entries: ReadonlyArray<Entry> = [
  { page: "timers", label: "Timers", icon: "timers", also: ["timer", "new"] },
  { page: "dead-letters", label: "Dead letters", icon: "dead", also: ["jobs"] },
  { page: "namespaces", label: "Namespaces", icon: "namespaces", also: ["namespace"] },
  { page: "status", label: "Status", icon: "status" },
  { page: "keys", label: "Keys", icon: "keys" },
]

const themeIcons: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" }
const themeLabels: Readonly<Record<Theme, string>> = { system: "As the system", light: "Light", dark: "Dark" }

export const Navigation = ({ page, onHelp }: { readonly page: PageName; readonly onHelp: () => void }) => (
  <header className="side">
    <Link className="brand" href={hrefOf("timers")}>
      <img src={iconAddress()} alt="" width="24" height="24" />
      <span>Punctual</span>
    </Link>
    <nav aria-label="Pages">
      {entries.map(({ page: target, label, icon, also = [] }) => (
        <Link
          key={target}
          href={hrefOf(target)}
          className="nav-entry"
          aria-current={page === target || also.includes(page) ? "page" : undefined}
        >
          <Icon name={icon} />
          <span>{label}</span>
        </Link>
      ))}
    </nav>
    <div className="side-tools">
      <LiveSwitch />
      <ZonePicker />
      <ThemeMenu />
      <Button
        look="quiet"
        icon="help"
        aria-label="Help: keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={onHelp}
      >
        <span className="side-word">Help</span>
      </Button>
    </div>
    <Reader />
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
      icon={isLive ? "pause" : "play"}
      aria-pressed={!isLive}
      title={isLive ? "Stop all live updates (p)" : "Start live updates (p)"}
      onClick={flip}
    >
      {isLive ? "Live" : "Paused"}
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
const Reader = () => {
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
        {!may("timers.write") && <span className="reader-note">may only look</span>}
      </span>
      <Button look="quiet" icon="out" label="Sign out" onClick={signOut} />
    </div>
  )
}
