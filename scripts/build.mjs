// Makes the one executable: program, store threads, migrations, reference page and runtime in a single file, which
// needs nothing beside it. `--outfile <path>` puts it elsewhere than dist/punctual. It is made for the machine that
// makes it.
import { spawnSync } from "node:child_process"
import { mkdirSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const root = fileURLToPath(new URL("..", import.meta.url))
const { values } = parseArgs({ options: { outfile: { type: "string" } } })
const outfile = values.outfile === undefined ? join(root, "dist", "punctual") : resolve(values.outfile)

const git = (...args) => {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

/** What the executable is made from. */
const sources = [
  "api",
  "bus",
  "documents",
  "server",
  "app",
  "drivers",
  "scripts",
  "package.json",
  "package-lock.json",
]

/**
 * Whoever reads it must not take changed sources for those of the commit, nor the commit of another repository that
 * these sources lie in for theirs.
 */
const commit = () => {
  const head = git("rev-parse", "--short=7", "HEAD")
  if (head === undefined || git("rev-parse", "--show-prefix") !== "") return "unknown"
  return git("status", "--porcelain", "--", ...sources) === "" ? head : `${head} with changes`
}

/** As others do who want the same bytes from the same sources: https://reproducible-builds.org/specs/source-date-epoch */
const builtAt = () => {
  const seconds = process.env.SOURCE_DATE_EPOCH
  const at = seconds === undefined ? new Date() : new Date(Number(seconds) * 1000)
  return at.toISOString().replace(/\.\d+Z$/, "Z")
}

mkdirSync(dirname(outfile), { recursive: true })
const built = spawnSync(
  join(root, "node_modules", ".bin", "bun"),
  [
    "build",
    "--compile",
    // Its settings are those of its documentation, and none that happen to lie in the folder where it is started.
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    `--define=PUNCTUAL_COMMIT=${JSON.stringify(commit())}`,
    `--define=PUNCTUAL_BUILT_AT=${JSON.stringify(builtAt())}`,
    `--outfile=${outfile}`,
    "app/src/main.ts",
    // Named beside the program, because it is loaded by its address and not imported.
    "server/src/stores/sqlite/worker.ts",
  ],
  { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
)
if (built.status !== 0) {
  console.error("The executable was not built; the reason is above.")
  process.exit(1)
}
console.log(`${outfile}  ${(statSync(outfile).size / 2 ** 20).toFixed(0)} MiB`)
