// The name that a document of the repository has on the site. Names end in `.html` and all addresses are relative, so
// the same bytes work on a node, on any web server, below any path, and from a folder.
import { posix } from "node:path"

/** Two documents would get the same name on disks that do not distinguish capital letters. */
const otherNames: Readonly<Record<string, string>> = {
  "README.md": "index.html",
  "SECURITY.md": "security-policy.html",
}

/** `docs/guides/operate.md` → `guides/operate.html`, `docs/console/README.md` → `console.html`. */
export const siteNameOf = (document: string): string =>
  otherNames[document] ??
  `${document
    .replace(/^docs\//, "")
    .replace(/\/README\.md$/, "")
    .replace(/\.md$/, "")
    .toLowerCase()}.html`

/** How the page `from` names the file `to`. Both are names on the site. */
export const addressFrom = (from: string, to: string): string =>
  posix.relative(posix.dirname(from), to) || posix.basename(to)
