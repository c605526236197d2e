// Installs dependencies that are missing. With `--runtime` it installs only what the service itself needs: checks and
// tests need much more, for example a database server. Without `--runtime`, or with `--drivers`, it also installs every
// driver. Otherwise the service itself installs a driver when a URL first names its scheme.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { driverNames, foundStamp, install, installDriver, root, stampOf } from "./install.mjs"

const fail = (message) => {
  console.error(message)
  process.exit(1)
}

const [major] = process.versions.node.split(".").map(Number)
if (major < 20) fail(`Punctual needs Node 20 or newer to install; this is ${process.version}.`)

const failed = (folder) =>
  fail(`\`npm ci\` failed in ${folder}; its message is above. Fix that and run the same command again.`)

const isRuntime = process.argv.includes("--runtime")
const stamp = stampOf(root)
const found = foundStamp(root)
// If the test dependencies are installed, a start of the service must not remove them.
const hasAll = found.endsWith(" full") || existsSync(join(root, "node_modules", "typescript"))
const isRuntimeOnly = isRuntime && !hasAll
const full = `${stamp} full`
const wantedStamps = isRuntimeOnly ? [`${stamp} runtime`, full] : [full]

if (!wantedStamps.includes(found)) {
  console.error("Installing dependencies (once) …")
  if (!install(root, wantedStamps[0], isRuntimeOnly ? ["--omit=dev"] : [])) failed(root)
}

if (!isRuntime || process.argv.includes("--drivers")) {
  for (const name of driverNames()) {
    if (!installDriver(name, console.error)) failed(join(root, "drivers", name))
  }
}
