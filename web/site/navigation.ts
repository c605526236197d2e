// The menu of the site, as docs/navigation.json lists it. The records of decisions are not in the file: they follow
// the page that lists them.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface NavigationEntry {
  /** The path of a document, or the address of a page that is not made from one (`api.html`). */
  readonly page: string
  /** In the menu. If it is absent, the menu shows the title of the document. */
  readonly label?: string
}

export interface NavigationGroup {
  readonly title: string
  readonly entries: ReadonlyArray<NavigationEntry>
}

/** Lists the records. */
export const decisionsPage = "docs/adr/README.md"

export const readNavigation = (root: string): ReadonlyArray<NavigationGroup> => {
  // The tests check every entry of the file.
  const groups: Readonly<Record<string, ReadonlyArray<string | NavigationEntry>>> = JSON.parse(
    readFileSync(join(root, "docs/navigation.json"), "utf8"),
  )
  return Object.entries(groups).map(([title, entries]) => ({
    title,
    entries: entries.map((entry) => (typeof entry === "string" ? { page: entry } : entry)),
  }))
}

/** The records of decisions, in their order. */
export const decisionRecords = (root: string): ReadonlyArray<string> =>
  readdirSync(join(root, "docs/adr"))
    .filter((file) => /^\d{4}-.*\.md$/.test(file))
    .sort()
    .map((file) => `docs/adr/${file}`)
