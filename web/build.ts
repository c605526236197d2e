// Bundles the pages of each product into one file, web/dist/<product>.pack: every file of its pages, compressed. The
// documentation becomes docs.pack. The program reads these files at its start, and the executable contains them.
// scripts/pages.mjs runs this when the sources have changed.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { type PageFile, writePagePack } from "@punctual/http/pages/PagePack"
import { agentPageNames } from "./agent/agentPageNames.ts"
import { pageNames } from "./console/pageNames.ts"
import { buildSite } from "./site/buildSite.ts"

const folder = import.meta.dir

interface Product {
  /** Its folder, and the name of its pack. */
  readonly name: string
  readonly title: string
  readonly pages: ReadonlyArray<string>
  /** How its pages reach the root of the service. */
  readonly root: "./" | "../"
  readonly withoutScript: string
}

const products: ReadonlyArray<Product> = [
  {
    name: "console",
    title: "Punctual",
    pages: pageNames,
    root: "../",
    withoutScript:
      "The console needs JavaScript. The API and the command line work without it: see ../docs/api.",
  },
  {
    name: "agent",
    title: "Service Agent",
    pages: agentPageNames,
    root: "./",
    withoutScript: "These pages need JavaScript. The API works without it: see ./docs/api.",
  },
]

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
}

const gzipped = (contentType: string, content: Uint8Array | string): PageFile => ({
  contentType,
  isGzip: true,
  bytes: gzipSync(content, { level: 9 }),
})

const pack = async ({ name, title, pages, root, withoutScript }: Product): Promise<Uint8Array> => {
  const files = new Map<string, PageFile>()
  const add = (file: string, content: Uint8Array | string): void => {
    const type = contentTypes[file.slice(file.lastIndexOf(".") + 1)]
    if (type === undefined) throw new Error(`build.ts does not know the content type of ${file}`)
    files.set(file, gzipped(type, content))
  }
  /** The output of an entry point, by its name and ending. */
  const named = (pattern: RegExp): string => {
    const found = [...files.keys()].find((file) => pattern.test(file))
    if (found === undefined) throw new Error(`the bundle has no file like ${pattern}`)
    return found
  }
  const built = await Bun.build({
    entrypoints: [`${name}/main.tsx`, "kit/startTheme.ts", "kit/eventWorker.ts"].map((file) =>
      join(folder, file),
    ),
    target: "browser",
    splitting: true,
    minify: true,
    publicPath: "./",
    naming: "[name]-[hash].[ext]",
    define: { "process.env.NODE_ENV": '"production"' },
  })
  for (const output of built.outputs) {
    const file = output.path.replace(/^\.?\//, "")
    // The style sheet of the entry has the styles of all pages. Nothing loads those of the chunks.
    if (/^chunk-.*\.css$/.test(file)) continue
    add(file, new Uint8Array(await output.arrayBuffer()))
  }
  const icon = await Bun.file(join(folder, "kit/icon.svg")).bytes()
  const iconName = `icon-${Bun.hash(icon).toString(36)}.svg`
  add(iconName, icon)
  // All addresses are relative, because a proxy may serve the service below any path. So every page must be in one folder.
  add(
    "index.html",
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="punctual-root" content="${root}">
<meta name="punctual-events" content="./${named(/^eventWorker-.*\.js$/)}">
<title>${title}</title>
<link rel="icon" href="./${iconName}" type="image/svg+xml">
<link rel="stylesheet" href="./${named(/^main-.*\.css$/)}">
<script src="./${named(/^startTheme-.*\.js$/)}"></script>
<script type="module" src="./${named(/^main-.*\.js$/)}"></script>
</head>
<body>
<div id="root"></div>
<noscript>${withoutScript}</noscript>
</body>
</html>
`,
  )
  return writePagePack({ pages, files })
}

mkdirSync(join(folder, "dist"), { recursive: true })
for (const product of products) {
  writeFileSync(join(folder, `dist/${product.name}.pack`), await pack(product))
}

const site = await buildSite(join(folder, ".."))
// The tests of the documents fail for each of these. A service starts nevertheless.
for (const problem of site.problems) process.stderr.write(`${problem}\n`)
const siteFiles = [...site.files].map(([name, { contentType, content }]): [string, PageFile] => [
  name,
  contentType === "image/png"
    ? { contentType, isGzip: false, bytes: Buffer.from(content) }
    : gzipped(contentType, content),
])
writeFileSync(join(folder, "dist/docs.pack"), writePagePack({ pages: [], files: new Map(siteFiles) }))
