// Makes the whole site from the documents: pages, pictures, the search, scripts and styles. It reads files of the
// repository only, so it needs no network.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { PageFile } from "@punctual/http/pages/PagePack"
import { decisionRecords, decisionsPage, type NavigationEntry, readNavigation } from "./navigation.ts"
import { type RenderedDocument, renderMarkdown } from "./renderMarkdown.ts"
import { SiteLinks } from "./SiteLinks.ts"
import { SitePictures } from "./SitePictures.ts"
import { searchScript } from "./searchIndex.ts"
import { addressFrom, siteNameOf } from "./siteNames.ts"
import { type MenuGroup, type PageLink, type SiteAssets, sitePageHtml } from "./sitePage.ts"

/** Contents that are not compressed yet, by their names. */
export interface Site {
  readonly files: ReadonlyMap<
    string,
    Pick<PageFile, "contentType"> & { readonly content: Uint8Array | string }
  >
  /** What is wrong with the documents, such as a link that leads nowhere. */
  readonly problems: ReadonlyArray<string>
}

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
}

/** A document with its place in the menu. */
interface PlacedDocument {
  readonly source: string
  readonly name: string
  readonly group: string
  readonly label: string
  readonly isRecord: boolean
  readonly rendered: RenderedDocument
}

/** `root` is the folder of the repository. */
export const buildSite = async (root: string): Promise<Site> => {
  const files = new Map<string, { readonly contentType: string; readonly content: Uint8Array | string }>()
  const add = (name: string, content: Uint8Array | string): void => {
    const contentType = contentTypes[name.slice(name.lastIndexOf(".") + 1)]
    if (contentType === undefined) throw new Error(`buildSite.ts does not know the content type of ${name}`)
    files.set(name, { contentType, content })
  }
  const groups = readNavigation(root)
  const records = decisionRecords(root)
  const entries = groups.flatMap(({ title, entries: inGroup }) =>
    inGroup.map((entry) => ({ ...entry, title })),
  )
  const documents = entries.filter(({ page }) => page.endsWith(".md"))
  const pictures = new SitePictures(root)
  const links = new SiteLinks(root, new Set([...documents.map(({ page }) => page), ...records]))
  const place = (
    source: string,
    group: string,
    label: string | undefined,
    isRecord: boolean,
  ): PlacedDocument => {
    const rendered = renderMarkdown(source, readFileSync(join(root, source), "utf8"), { links, pictures })
    return { source, name: siteNameOf(source), group, label: label ?? rendered.title, isRecord, rendered }
  }
  const pages = [
    ...documents.map(({ page, title, label }) => place(page, title, label, false)),
    ...records.map((record) => place(record, groupOf(entries, decisionsPage), undefined, true)),
  ]

  for (const picture of pictures.all()) add(picture.name, picture.bytes)
  const search = searchScript(pages)
  const assets: SiteAssets = {
    ...(await buildAssets(root, add)),
    searchScript: `search-${hashOf(search)}.js`,
  }
  add(assets.searchScript, search)
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  )
  const labels = new Map(pages.map(({ source, label }) => [source, label]))
  pages.forEach((page, index) => {
    const linkTo = (other: PlacedDocument | undefined): PageLink | undefined =>
      other && { address: addressFrom(page.name, other.name), label: other.label }
    const html = sitePageHtml({
      title: page.rendered.title,
      group: page.group,
      html: page.rendered.html,
      headings: page.rendered.headings,
      toRoot: "../".repeat(page.name.split("/").length - 1),
      menu: menuOf(page),
      previous: linkTo(pages[index - 1]),
      next: linkTo(pages[index + 1]),
      source: page.source,
      version,
      assets,
    })
    add(page.name, html)
  })
  return { files, problems: pages.flatMap(({ rendered }) => rendered.problems) }

  /** A record is in the menu only on its own page. */
  function menuOf(page: PlacedDocument): ReadonlyArray<MenuGroup> {
    const linkOf = ({ page: target, label }: NavigationEntry) => ({
      address: addressFrom(page.name, target.endsWith(".md") ? siteNameOf(target) : target),
      label: label ?? labels.get(target) ?? target,
      isThis: target === page.source,
    })
    return groups.map(({ title, entries: inGroup }) => ({
      title,
      links: [...inGroup, ...(page.isRecord && title === page.group ? [{ page: page.source }] : [])].map(
        linkOf,
      ),
    }))
  }
}

const groupOf = (
  entries: ReadonlyArray<NavigationEntry & { readonly title: string }>,
  page: string,
): string => entries.find((entry) => entry.page === page)?.title ?? ""

const hashOf = (content: Uint8Array | string): string =>
  createHash("sha256").update(content).digest("hex").slice(0, 8)

const buildAssets = async (
  root: string,
  add: (name: string, content: Uint8Array | string) => void,
): Promise<Omit<SiteAssets, "searchScript">> => {
  const folder = join(root, "web/site/client")
  const built = await Bun.build({
    entrypoints: [join(folder, "main.ts"), join(folder, "start.ts"), join(folder, "site.css")],
    target: "browser",
    // A page loads them as plain scripts, because browsers load modules only from servers.
    format: "iife",
    minify: true,
    naming: "[name]-[hash].[ext]",
  })
  const nameOf = new Map<string, string>()
  for (const output of built.outputs) {
    const name = output.path.replace(/^\.?\//, "")
    nameOf.set(name.replace(/-[^-]*\./, "."), name)
    add(name, new Uint8Array(await output.arrayBuffer()))
  }
  const found = (file: string): string => {
    const name = nameOf.get(file)
    if (name === undefined) throw new Error(`the bundle of the site has no ${file}`)
    return name
  }
  const icon = readFileSync(join(root, "web/kit/icon.svg"))
  const iconName = `icon-${hashOf(icon)}.svg`
  add(iconName, icon)
  return {
    style: found("site.css"),
    startScript: found("start.js"),
    script: found("main.js"),
    icon: iconName,
  }
}
