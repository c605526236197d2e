// Bundles the pages into one file, web/dist/console.pack: every file of the pages, compressed. The service reads it at
// its start, and the executable contains it. scripts/pages.mjs runs this when the sources have changed.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { pageNames } from "./console/pageNames.ts"

const folder = import.meta.dir

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
}

const built = await Bun.build({
  entrypoints: ["main.tsx", "theme.ts", "events/worker.ts"].map((file) => join(folder, "console", file)),
  target: "browser",
  splitting: true,
  minify: true,
  publicPath: "./",
  naming: "[name]-[hash].[ext]",
  define: { "process.env.NODE_ENV": '"production"' },
})

const files: Record<string, { readonly type: string; readonly gzip: string }> = {}

const add = (name: string, content: Uint8Array | string): void => {
  const type = contentTypes[name.slice(name.lastIndexOf(".") + 1)]
  if (type === undefined) throw new Error(`build.ts does not know the content type of ${name}`)
  files[name] = { type, gzip: gzipSync(content, { level: 9 }).toString("base64") }
}

for (const output of built.outputs) {
  const name = output.path.replace(/^\.?\//, "")
  // The style sheet of the entry has the styles of all pages. Nothing loads those of the chunks.
  if (/^chunk-.*\.css$/.test(name)) continue
  add(name, new Uint8Array(await output.arrayBuffer()))
}

/** The output of an entry point, by its name and ending. */
const named = (pattern: RegExp): string => {
  const name = Object.keys(files).find((file) => pattern.test(file))
  if (name === undefined) throw new Error(`the bundle has no file like ${pattern}`)
  return name
}

const icon = await Bun.file(join(folder, "console/icon.svg")).bytes()
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
<meta name="punctual-events" content="./${named(/^worker-.*\.js$/)}">
<title>Punctual</title>
<link rel="icon" href="./${iconName}" type="image/svg+xml">
<link rel="stylesheet" href="./${named(/^main-.*\.css$/)}">
<script src="./${named(/^theme-.*\.js$/)}"></script>
<script type="module" src="./${named(/^main-.*\.js$/)}"></script>
</head>
<body>
<div id="root"></div>
<noscript>The console needs JavaScript. The API and the command line work without it: see ../docs/api.</noscript>
</body>
</html>
`,
)

mkdirSync(join(folder, "dist"), { recursive: true })
writeFileSync(join(folder, "dist/console.pack"), JSON.stringify({ pages: pageNames, files }))
