// Builds the pages of the products if their sources have changed since the last build. Only then are the packages of the
// pages needed, so only then are they installed.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ensureInstalled, root, stampOf } from "./install.mjs"
import { withInstallLock } from "./installLock.mjs"

const web = join(root, "web")
const stampFile = join(web, "dist", ".built-from")
const buildWithinMs = 2 * 60_000

/** Changes when a file of the pages changes. */
const sourcesStamp = () => {
  const hash = createHash("sha256").update(stampOf(web))
  for (const folder of ["kit", "console", "agent"]) {
    for (const file of readdirSync(join(web, folder), { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue
      const path = join(file.parentPath, file.name)
      hash.update(`\0${path.slice(web.length)}\0`).update(readFileSync(path))
    }
  }
  return hash.update(readFileSync(join(web, "build.ts"))).digest("hex")
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
