// The frame of a page of the site: its head, the menu, the content, and the list of its sections. The page works
// without scripts: menu and sections open as popovers. A script adds the search, the theme and buttons that copy code.
import { escapeHtml } from "@punctual/http/reference/html"
import type { PageHeading } from "./renderMarkdown.ts"

export interface SiteAssets {
  /** Addresses relative to the root of the site. */
  readonly style: string
  readonly startScript: string
  readonly script: string
  readonly searchScript: string
  readonly icon: string
}

export interface PageLink {
  /** Relative to the page. */
  readonly address: string
  readonly label: string
}

export interface MenuGroup {
  readonly title: string
  readonly links: ReadonlyArray<PageLink & { readonly isThis: boolean }>
}

export interface SitePage {
  readonly title: string
  /** Of the menu. */
  readonly group: string
  readonly html: string
  readonly headings: ReadonlyArray<PageHeading>
  /** From the page to the root of the site: empty, `../`, `../../`. */
  readonly toRoot: string
  readonly menu: ReadonlyArray<MenuGroup>
  readonly previous: PageLink | undefined
  readonly next: PageLink | undefined
  /** The path of the document. */
  readonly source: string
  readonly version: string
  readonly assets: SiteAssets
}

/** Fewer sections need no list. */
const sectionsMin = 2

export const sitePageHtml = (page: SitePage): string => {
  const { toRoot, assets } = page
  const at = (name: string): string => escapeHtml(toRoot + name)
  const title = page.source === "README.md" ? "Punctual documentation" : `${page.title} · Punctual`
  const sections = page.headings.filter(({ level }) => level === 2 || level === 3)
  const hasSections = sections.length >= sectionsMin
  return `<!doctype html>
<html lang="en" data-root="${escapeHtml(toRoot)}" data-search="${at(assets.searchScript)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${at(assets.icon)}" type="image/svg+xml">
<link rel="stylesheet" href="${at(assets.style)}">
<script src="${at(assets.startScript)}"></script>
<script src="${at(assets.script)}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<button type="button" class="button button-icon menu-button" popovertarget="menu" aria-label="Menu">${icon("M2.5 4.5h11M2.5 8h11M2.5 11.5h11")}</button>
<a class="brand" href="${at("index.html")}"><img src="${at(assets.icon)}" alt="" width="24" height="24">Punctual <span>docs</span></a>
<button type="button" class="search-open" id="search-open" aria-keyshortcuts="/">${icon("M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3 14 14")}<span>Search</span><kbd>/</kbd></button>
<a class="top-link" href="${at("api.html")}">API reference</a>
<button type="button" class="button button-icon" id="theme">${icon("M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z")}</button>
</header>
<div class="columns">
<nav class="menu" id="menu" popover aria-label="Documentation">
${page.menu.map(menuGroup).join("\n")}
<p class="version">Version ${escapeHtml(page.version)}</p>
</nav>
<main id="main" tabindex="-1">
<div class="above"><span>${escapeHtml(page.group)}</span>${hasSections ? `<button type="button" class="button sections-button" popovertarget="sections">On this page</button>` : ""}</div>
<article>
${page.html}</article>
<footer>
<nav class="neighbours" aria-label="Previous and next page">${neighbour("previous", page.previous)}${neighbour("next", page.next)}</nav>
<p class="source">Source: <code>${escapeHtml(page.source)}</code></p>
</footer>
</main>
${hasSections ? sectionList(sections) : '<div class="sections"></div>'}
</div>
</body>
</html>
`
}

/** A drawing of 16 by 16, in the colour of the text. */
const icon = (path: string): string =>
  `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`

const menuGroup = ({ title, links }: MenuGroup): string => {
  const items = links.map(
    ({ address, label, isThis }) =>
      `<li><a href="${escapeHtml(address)}"${isThis ? ' aria-current="page"' : ""}>${escapeHtml(label)}</a></li>`,
  )
  return `<section><h2 class="list-title">${escapeHtml(title)}</h2><ul>${items.join("")}</ul></section>`
}

const neighbour = (which: "previous" | "next", link: PageLink | undefined): string =>
  link === undefined
    ? ""
    : `<a class="neighbour ${which}" rel="${which === "next" ? "next" : "prev"}" href="${escapeHtml(link.address)}"><span>${which === "next" ? "Next" : "Previous"}</span>${escapeHtml(link.label)}</a>`

const sectionList = (sections: ReadonlyArray<PageHeading>): string => {
  const items = sections.map(
    ({ level, id, text }) =>
      `<li class="level-${level}"><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav class="sections" id="sections" popover aria-labelledby="sections-title">
<h2 class="list-title" id="sections-title">On this page</h2>
<ul>${items.join("")}</ul>
</nav>`
}
