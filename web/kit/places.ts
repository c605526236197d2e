/**
 * The address of the page holds everything that the page shows: the page's name and its parameters. Only the reader
 * changes it. So links can be shared, and "back" and "forward" work.
 */
import { type MouseEvent, useSyncExternalStore } from "react"

const listeners = new Set<() => void>()
const tell = (): void => {
  for (const listener of listeners) listener()
}
addEventListener("popstate", tell)

const nameInAddress = (): string => location.pathname.slice(location.pathname.lastIndexOf("/") + 1)

let shown = { href: location.href, name: nameInAddress(), parameters: new URLSearchParams(location.search) }

const current = () => {
  if (shown.href !== location.href) {
    shown = { href: location.href, name: nameInAddress(), parameters: new URLSearchParams(location.search) }
  }
  return shown
}

/** The page and its parameters. An unknown name, or none, is the first page. */
export const usePlaceAmong = <Page extends string>(
  pages: ReadonlyArray<Page>,
  first: Page,
): { readonly page: Page; readonly parameters: URLSearchParams } => {
  const { name, parameters } = useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, current)
  return { page: pages.find((known) => known === name) ?? first, parameters }
}

export type Parameters = Readonly<Record<string, string | undefined>>

/** A relative address. Parameters that are undefined or empty are left out. */
export const addressOf = (page: string, parameters: Parameters = {}): string => {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  )
  const query = new URLSearchParams(given).toString()
  return query === "" ? page : `${page}?${query}`
}

/** `replace`: for changes that are no step of their own, such as zooming. */
export const goTo = (href: string, { replace = false } = {}): void => {
  if (replace) history.replaceState(null, "", href)
  else history.pushState(null, "", href)
  tell()
}

/** Changes some parameters and keeps the others. */
export const changeParameters = (changes: Parameters, options?: { readonly replace?: boolean }): void => {
  const { name, parameters } = current()
  goTo(addressOf(name === "" ? "./" : name, { ...Object.fromEntries(parameters), ...changes }), options)
}

/** For links: the browser opens new tabs, the page does everything else. */
export const followLink = (event: MouseEvent<HTMLAnchorElement>): void => {
  const { metaKey, ctrlKey, shiftKey, altKey, button, currentTarget } = event
  if (metaKey || ctrlKey || shiftKey || altKey || button !== 0) return
  event.preventDefault()
  goTo(currentTarget.getAttribute("href") ?? "")
  scrollTo(0, 0)
}
