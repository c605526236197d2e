// Installs what is missing, and only then: a stamp in node_modules remembers which lockfile it was
// installed from, so that a start with nothing to do costs one small read. With `--runtime` only what the
// service itself needs is installed: checks and tests need much more, a database server among it.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const stampFile = join(root, "node_modules", ".punctual-installed")

const [major] = process.versions.node.split(".").map(Number)
if (major < 20) {
  console.error(`Punctual needs Node 20 or newer to install; this is ${process.version}.`)
  process.exit(1)
}

const wanted = createHash("sha256")
for (const file of ["package-lock.json", ".npmrc"]) wanted.update(readFileSync(join(root, file)))
wanted.update(`${process.platform}-${process.arch}`)
const stamp = wanted.digest("hex")

const found = existsSync(stampFile) ? readFileSync(stampFile, "utf8") : ""
// Whoever has what the tests need keeps it: a start must not take it away.
const hasAll = found.endsWith(" full") || existsSync(join(root, "node_modules", "typescript"))
const isRuntimeOnly = process.argv.includes("--runtime") && !hasAll
const full = `${stamp} full`
const wantedStamps = isRuntimeOnly ? [`${stamp} runtime`, full] : [full]

const isInstalled = wantedStamps.includes(found)
if (!isInstalled) {
  console.error("Installing dependencies (once) …")
  const npm = process.env.npm_execpath
  const [command, prefix] = npm ? [process.execPath, [npm]] : ["npm", []]
  // A `npm test --silent` or `--json` would hand its flags down through the environment.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name)))
  const omitted = isRuntimeOnly ? ["--omit=dev"] : []
  const installed = spawnSync(command, [...prefix, "ci", "--loglevel=error", ...omitted], {
    cwd: root,
    env,
    stdio: ["ignore", 2, 2],
  })
  if (installed.status !== 0) {
    console.error("`npm ci` failed; its message is above. Mend that and run the same command again.")
    process.exit(1)
  }
  writeFileSync(stampFile, wantedStamps[0])
}
