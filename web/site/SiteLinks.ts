// Where the links of a document lead on the site. A link to another document becomes a link to its page. A link to a
// file that has no page, such as a source, becomes the path of the file, so that no link is a dead end.
import { existsSync } from "node:fs"
import { join, posix } from "node:path"
import { addressFrom, siteNameOf } from "./siteNames.ts"

export type SiteLink =
  | { readonly kind: "page"; readonly address: string }
  | { readonly kind: "outside"; readonly address: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "wrong"; readonly why: string }

export class SiteLinks {
  readonly #root: string
  readonly #pages: ReadonlySet<string>

  /** `pages` are the paths of the documents that have a page. */
  constructor(root: string, pages: ReadonlySet<string>) {
    this.#root = root
    this.#pages = pages
  }

  of(document: string, target: string): SiteLink {
    if (/^(https?:\/\/|mailto:)/i.test(target)) return { kind: "outside", address: target }
    if (/^[a-z][a-z\d+.-]*:|^\/\//i.test(target))
      return { kind: "wrong", why: `the link ${target} has another scheme` }
    const [file = "", anchor] = target.split("#")
    const path = file === "" ? document : repositoryPath(document, file)
    if (this.#pages.has(path)) {
      const address = path === document ? "" : addressFrom(siteNameOf(document), siteNameOf(path))
      const place = anchor === undefined ? "" : `#${anchor}`
      return { kind: "page", address: address + place || addressFrom(siteNameOf(document), siteNameOf(path)) }
    }
    return path.startsWith("..") || !existsSync(join(this.#root, path))
      ? { kind: "wrong", why: `there is no ${path}` }
      : { kind: "file", path }
  }
}

/** The path from the root of the repository. */
export const repositoryPath = (document: string, file: string): string =>
  posix.normalize(posix.join(posix.dirname(document), decodeURIComponent(file)))
