// Runs `npm ci` in a folder, but only if something is missing there. A stamp in its node_modules records which lockfile
// was installed, so a start with nothing to do costs only a few small reads. bootstrap.mjs uses this for the repository.
// The service uses it for a driver when a URL names its scheme.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { withInstallLock } from "./installLock.mjs"

export const root = fileURLToPath(new URL("..", import.meta.url))
const driversFolder = join(root, "drivers")
const stampFileOf = (folder) => join(folder, "node_modules", ".punctual-installed")
const installWithinMs = 15 * 60_000

/** The stamp of a folder in which everything from its lockfile is installed. */
export const stampOf = (folder) => {
  const wanted = createHash("sha256")
  // A package of the npm registry cannot contain .npmrc.
  for (const file of ["package-lock.json", ".npmrc"]) {
    if (existsSync(join(folder, file))) wanted.update(readFileSync(join(folder, file)))
  }
  return wanted.update(`${process.platform}-${process.arch}`).digest("hex")
}

export const foundStamp = (folder) => {
  const file = stampFileOf(folder)
  return existsSync(file) ? readFileSync(file, "utf8") : ""
}

/**
 * Installs what the lockfile of the folder names, unless one of the stamps is there. Returns whether it is there now.
 * `what` is said before it installs. If several processes need the same, one installs, and the others wait for it.
 */
export const ensureInstalled = (folder, { stamps, say, what, args = [] }) => {
  const isThere = () => stamps.includes(foundStamp(folder))
  return (
    isThere() ||
    withInstallLock(folder, say, () => {
      if (isThere()) return true
      say(what)
      return install(folder, stamps[0], args)
    })
  )
}

/** Returns whether it succeeded. The output of npm goes to stderr. */
const install = (folder, stamp, args) => {
  // The service runs in Bun, and npm is made for Node.
  const node =
    process.versions.bun === undefined ? process.execPath : (process.env.npm_node_execpath ?? "node")
  const npm = process.env.npm_execpath
  const [command, prefix] = npm ? [node, [npm]] : ["npm", []]
  // `npm test --silent` or `--json` would pass its flags on through the environment.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name)))
  const { status, error } = spawnSync(command, [...prefix, "ci", "--loglevel=error", ...args], {
    cwd: folder,
    env,
    stdio: ["ignore", 2, 2],
    timeout: installWithinMs,
  })
  if (error !== undefined) console.error(`npm could not run: ${error.message}`)
  if (status !== 0) return false
  writeFileSync(stampFileOf(folder), stamp)
  return true
}

/** The names of all drivers. */
export const driverNames = () =>
  readdirSync(driversFolder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  )

/** If the driver is missing, prints a line and installs it. Returns whether the driver is there now. */
export const installDriver = (name, say, drivers = driversFolder) => {
  const folder = join(drivers, name)
  const what = `Installing the driver ${name} (once) …`
  return ensureInstalled(folder, { stamps: [stampOf(folder)], say, what })
}
