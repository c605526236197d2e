// Builds the pages of the products if their sources have changed since the last build. Only then are the packages of the
// pages needed, so only then are they installed.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ensureInstalled, root, stampOf } from "./install.mjs"
import { withInstallLock } from "./installLock.mjs"

const web = join(root, "web")
const stampFile = join(web, "dist", ".built-from")
const buildWithinMs = 2 * 60_000

/** What the pages are made from: the sources of the pages, the documents, and the pictures in the documents. */
const sources = [
  ...["kit", "console", "agent", "site", "build.ts"].map((name) => join("web", name)),
  "docs",
  "bench/results",
  "http/src/pages",
  "http/src/reference/html.ts",
  "package.json",
]

/** The documents that are outside of docs. */
const documentsElsewhere = () =>
  [...readFileSync(join(root, "docs/navigation.json"), "utf8").matchAll(/"([^"]+\.md)"/g)]
    .map(([, path]) => path)
    .filter((path) => !path.startsWith("docs/"))

const filesBelow = (path) =>
  statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile())
        .map((file) => join(file.parentPath, file.name))

/** Changes when a file of the pages changes. */
const sourcesStamp = () => {
  const hash = createHash("sha256").update(stampOf(web))
  for (const file of [...sources, ...documentsElsewhere()].flatMap((path) => filesBelow(join(root, path)))) {
    hash.update(`\0${file.slice(root.length)}\0`).update(readFileSync(file))
  }
  return hash.digest("hex")
}

/** Installs the packages of the pages. Tests also need the types. Returns whether it succeeded. */
export const installPages = (isRuntimeOnly, say) => {
  const stamp = stampOf(web)
  const full = `${stamp} full`
  return ensureInstalled(web, {
    stamps: isRuntimeOnly ? [`${stamp} runtime`, full] : [full],
    say,
    what: "Installing the packages of the pages (once) …",
    args: isRuntimeOnly ? ["--omit=dev"] : [],
  })
}

/** Returns whether the built pages are those of the sources. */
export const buildPages = (isRuntimeOnly, say) => {
  const stamp = sourcesStamp()
  const isBuilt = () => existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp
  if (isBuilt()) return true
  if (!installPages(isRuntimeOnly, say)) return false
  return withInstallLock(web, say, () => isBuilt() || build(stamp, say))
}

const build = (stamp, say) => {
  say("Building the pages …")
  const { status } = spawnSync(join(root, "node_modules", ".bin", "bun"), [join(web, "build.ts")], {
    cwd: web,
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", 2, 2],
    timeout: buildWithinMs,
  })
  if (status !== 0) return false
  writeFileSync(stampFile, stamp)
  return true
}
