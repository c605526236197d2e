// Renders one document as the content of its page. Bun parses the Markdown. This file writes every element itself, and
// all text is escaped: HTML in a document is shown as text. The only HTML that has an effect is a comment, which is
// left out, and a `<picture>` with a light and a dark image.
import { escapeHtml } from "@punctual/http/reference/html"
import { colouredCode } from "./colouredCode.ts"
import { HeadingSlugs } from "./HeadingSlugs.ts"
import { repositoryPath, type SiteLinks } from "./SiteLinks.ts"
import type { SitePictures } from "./SitePictures.ts"
import { addressFrom, siteNameOf } from "./siteNames.ts"

export interface PageHeading {
  readonly level: number
  readonly id: string
  readonly text: string
}

export interface RenderedDocument {
  /** The text of the first heading. */
  readonly title: string
  readonly html: string
  readonly headings: ReadonlyArray<PageHeading>
  /** What is wrong with the document. */
  readonly problems: ReadonlyArray<string>
}

export interface RenderContext {
  readonly links: SiteLinks
  readonly pictures: SitePictures
}

/** `path` is the path of the document in the repository. */
export const renderMarkdown = (path: string, markdown: string, context: RenderContext): RenderedDocument => {
  const page = new DocumentRenderer(path, context)
  const html = page.render(markdown)
  return { title: page.headings[0]?.text ?? path, html, headings: page.headings, problems: page.problems }
}

/** A page on a phone has room for about this many characters of code in a line. */
const narrowLineChars = 40

const shortCodeChars = 12

/** Tables with fewer columns fit on a phone, because their text wraps. */
const wideTableColumns = 4

class DocumentRenderer {
  readonly headings: Array<PageHeading> = []
  readonly problems: Array<string> = []
  readonly #path: string
  readonly #context: RenderContext
  readonly #slugs = new HeadingSlugs()
  #pictureCount = 0

  constructor(path: string, context: RenderContext) {
    this.#path = path
    this.#context = context
  }

  render(markdown: string): string {
    return Bun.markdown.render(markdown, {
      text: escapeHtml,
      heading: (html, { level }) => this.#heading(html, level),
      paragraph: (html) =>
        `<p${html.startsWith("<strong>Goal:</strong>") ? ' class="goal"' : ""}>${html}</p>\n`,
      blockquote: (html) => `<blockquote>${html}</blockquote>\n`,
      code: (html, meta) => codeBlock(textOfHtml(html), meta?.language ?? ""),
      list: (html, { ordered, start = 1 }) =>
        ordered ? `<ol${start === 1 ? "" : ` start="${start}"`}>${html}</ol>\n` : `<ul>${html}</ul>\n`,
      listItem: (html) => `<li>${html}</li>`,
      hr: () => "<hr>\n",
      table,
      thead: (html) => `<thead>${html}</thead>`,
      tbody: (html) => `<tbody>${html}</tbody>`,
      tr: (html) => `<tr>${html}</tr>`,
      th: (html, meta) => `<th scope="col"${alignment(meta?.align)}>${html}</th>`,
      td: (html, meta) => `<td${alignment(meta?.align)}>${html}</td>`,
      html: (html) => this.#html(textOfHtml(html)),
      strong: (html) => `<strong>${html}</strong>`,
      emphasis: (html) => `<em>${html}</em>`,
      strikethrough: (html) => `<del>${html}</del>`,
      codespan: (html) => `<code>${breakable(html)}</code>`,
      link: (html, { href }) => this.#link(html, href),
      image: (alt, { src }) => this.#picture(src, alt),
    })
  }

  #problem(text: string): void {
    this.problems.push(`${this.#path}: ${text}`)
  }

  #heading(html: string, level: number): string {
    const text = textOfHtml(html)
    const id = this.#slugs.slugOf(text)
    this.headings.push({ level, id, text })
    // The page itself needs no link beside its title.
    const anchor = level === 1 ? "" : anchorOf(id, text)
    return `<h${level} id="${escapeHtml(id)}">${html}${anchor}</h${level}>\n`
  }

  #link(html: string, target: string): string {
    const link = this.#context.links.of(this.#path, target)
    if (link.kind === "page") return `<a href="${escapeHtml(link.address)}">${html}</a>`
    if (link.kind === "outside") return `<a href="${escapeHtml(link.address)}" rel="noreferrer">${html}</a>`
    if (link.kind === "wrong") {
      this.#problem(link.why)
      return html
    }
    const isNamed = textOfHtml(html).includes(link.path)
    return isNamed ? html : `${html} (<code>${escapeHtml(link.path)}</code>)`
  }

  /** `alt` is escaped. The second source is for the dark theme. */
  #picture(source: string, alt: string, darkSource?: string): string {
    const images = [source, ...(darkSource === undefined ? [] : [darkSource])].map((one, index) => {
      const path = repositoryPath(this.#path, one)
      const picture = this.#context.pictures.at(path)
      if (picture === undefined) {
        this.#problem(`there is no picture ${path}`)
        return alt
      }
      const address = escapeHtml(addressFrom(siteNameOf(this.#path), picture.name))
      // The browser loads the others when the reader comes near them. It loads no picture of the other theme.
      const isLazy = this.#pictureCount > 0 || darkSource !== undefined
      const theme = darkSource === undefined ? "" : index === 0 ? " only-light" : " only-dark"
      const image = `<img src="${address}" alt="${alt}" width="${picture.width}" height="${picture.height}"${isLazy ? ' loading="lazy"' : ""}>`
      // A screenshot has more detail than a narrow page can show.
      return path.endsWith(".png")
        ? `<a class="picture${theme}" href="${address}">${image}</a>`
        : `<span class="picture${theme}">${image}</span>`
    })
    this.#pictureCount++
    return images.join("")
  }

  #html(html: string): string {
    if (/^(\s*<!--(?:(?!-->)[\s\S])*-->)+\s*$/.test(html)) return ""
    const [, dark, light] =
      /^<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"<>]+)">\s*(<img [^<>]*>)\s*<\/picture>\s*$/.exec(
        html,
      ) ?? []
    const [, alt] = /\balt="([^"<>]*)"/.exec(light ?? "") ?? []
    const [, source] = /\bsrc="([^"<>]*)"/.exec(light ?? "") ?? []
    if (dark !== undefined && alt !== undefined && source !== undefined) {
      return `<p>${this.#picture(source, escapeHtml(alt), dark)}</p>\n`
    }
    this.#problem(`the site shows this HTML as text: ${html.trim()}`)
    return `<p>${escapeHtml(html)}</p>\n`
  }
}

const anchorOf = (id: string, text: string): string =>
  `<a class="anchor" href="#${escapeHtml(id)}" aria-label="Link to the section: ${escapeHtml(text)}">#</a>`

/** A long name without spaces may break after a part of it. */
const breakable = (html: string): string =>
  html.length <= shortCodeChars ? html : html.replaceAll(/[_/](?=\w)/g, "$&<wbr>")

const alignment = (align: string | undefined): string => (align === undefined ? "" : ` class="${align}"`)

const table = (html: string): string => {
  const columns = /<thead>(.*?)<\/thead>/s.exec(html)?.[1]?.match(/<th /g)?.length ?? 0
  // Some tables have no titles of their columns.
  const filled = html.replace(/<thead><tr>(<th[^>]*><\/th>)+<\/tr><\/thead>/, "")
  const scrolls = columns >= wideTableColumns ? ' role="region" aria-label="Table" tabindex="0"' : ""
  return `<div class="table"${scrolls}><table>${filled}</table></div>\n`
}

const codeBlock = (code: string, language: string): string => {
  if (language === "mermaid") return arrows(code)
  const isWide = code.split("\n").some((line) => line.length > narrowLineChars)
  const isOutput = language === "text" || language === ""
  return `<div class="code"${isOutput ? "" : ` data-language="${escapeHtml(language)}"`}><pre${isWide ? ' tabindex="0"' : ""}><code>${colouredCode(code, language)}</code></pre></div>\n`
}

/** A diagram of arrows, as a table: what each thing leads to. */
const arrows = (code: string): string => {
  const targets = new Map<string, Array<string>>()
  for (const [, from = "", to = ""] of code.matchAll(/^\s*(\S+) --> (\S+)$/gm)) {
    targets.set(from, [...(targets.get(from) ?? []), to])
  }
  const rows = [...targets].map(
    ([from, to]) =>
      `<tr><td><code>${escapeHtml(from)}</code></td><td>→ ${escapeHtml(to.join(", "))}</td></tr>`,
  )
  return `<div class="table"><table><tbody>${rows.join("")}</tbody></table></div>\n`
}

/** The text of rendered HTML, without its tags. */
export const textOfHtml = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")
