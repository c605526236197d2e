// Installs dependencies that are missing. With `runtime` it installs only what the service itself needs: checks and
// tests need much more, for example a database server. Without `runtime`, or with `drivers`, it also installs every
// driver. Otherwise the service itself installs a driver when a URL first names its scheme. Without `runtime`, or with
// `pages`, it also builds the pages of the console. As a program, it takes these words as flags: `--runtime`.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { driverNames, ensureInstalled, foundStamp, installDriver, root, stampOf } from "./install.mjs"
import { buildPages, installPages } from "./pages.mjs"

const fail = (message) => {
  console.error(message)
  process.exit(1)
}

const failed = (folder) =>
  fail(`\`npm ci\` failed in ${folder}; its message is above. Fix that and run the same command again.`)

/** Ends the process with a message if something cannot be installed. `needs` are the words above. */
export const bootstrap = (needs) => {
  const [major] = process.versions.node.split(".").map(Number)
  if (major < 20) fail(`Punctual needs Node 20 or newer to install; this is ${process.version}.`)
  const isRuntime = needs.includes("runtime")
  const isRuntimeOnly = installPackages(isRuntime)
  if (!isRuntime || needs.includes("drivers")) {
    for (const name of driverNames()) {
      if (!installDriver(name, console.error)) failed(join(root, "drivers", name))
    }
  }
  if (!isRuntime && !installPages(false, console.error)) failed(join(root, "web"))
  if ((!isRuntime || needs.includes("pages")) && !buildPages(isRuntimeOnly, console.error)) {
    const reason = "The console was not built; the reason is above."
    // Timers matter more than pages.
    if (isRuntime) console.error(`${reason} The service starts without it.`)
    else fail(reason)
  }
}

/** Returns whether only the packages of the service are installed. */
const installPackages = (isRuntime) => {
  const stamp = stampOf(root)
  const found = foundStamp(root)
  // If the test dependencies are installed, a start of the service must not remove them.
  const hasAll = found.endsWith(" full") || existsSync(join(root, "node_modules", "typescript"))
  const isRuntimeOnly = isRuntime && !hasAll
  const full = `${stamp} full`
  const isInstalled = ensureInstalled(root, {
    stamps: isRuntimeOnly ? [`${stamp} runtime`, full] : [full],
    say: console.error,
    what: "Installing dependencies (once) …",
    args: isRuntimeOnly ? ["--omit=dev"] : [],
  })
  if (!isInstalled) failed(root)
  return isRuntimeOnly
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  bootstrap(process.argv.slice(2).map((flag) => flag.replace(/^--/, "")))
}
