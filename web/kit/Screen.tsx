/**
 * What a page shows in place of data. The cases look different, so that nobody takes a failure for an empty list: no data
 * yet, no match for the filter, an error, not allowed, a service that starts, and still loading.
 */
import { type ReactNode, useEffect, useState } from "react"
import { Icon, type IconName } from "./Icon.tsx"

export interface ScreenProps {
  readonly kind: "empty" | "noMatch" | "failed" | "forbidden" | "starting"
  readonly title: string
  readonly children?: ReactNode
  readonly actions?: ReactNode
  /** It stands in place of a whole page, so its title is that of the page. */
  readonly isPage?: boolean
}

const icons: Readonly<Record<ScreenProps["kind"], IconName>> = {
  empty: "timers",
  noMatch: "search",
  failed: "dead",
  forbidden: "lock",
  starting: "timers",
}

const roles: Partial<Record<ScreenProps["kind"], string>> = { failed: "alert", starting: "status" }

export const Screen = ({ kind, title, children, actions, isPage = false }: ScreenProps) => (
  <div className={`screen screen-${kind}`} role={roles[kind]}>
    <Icon name={icons[kind]} />
    {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
    {children !== undefined && <div className="screen-text">{children}</div>}
    {actions !== undefined && <div className="screen-actions">{actions}</div>}
  </div>
)

const quickMs = 200

/** Grey bars in place of rows. A fast answer shows none of them. */
export const Loading = ({ rows = 8 }: { readonly rows?: number }) => {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), quickMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="loading" aria-busy="true" aria-live="polite">
      {isSlow && <span className="visually-hidden">Loading</span>}
      {isSlow && Array.from({ length: rows }, (_, row) => <div key={String(row)} className="loading-row" />)}
    </div>
  )
}
