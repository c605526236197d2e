// Builds the executable: program, store threads, migrations, reference page and runtime in a single file that needs no
// other files. The default path is dist/punctual; `--outfile <path>` sets another. The executable is for the platform of
// the machine that builds it, unless `--target <name>` names another one and `--runtime <file>` is its runtime
// (scripts/release/executables.ts fetches runtimes).
import { spawnSync } from "node:child_process"
import { mkdirSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const root = fileURLToPath(new URL("..", import.meta.url))
const { values } = parseArgs({
  options: { outfile: { type: "string" }, target: { type: "string" }, runtime: { type: "string" } },
})
const otherPlatform =
  values.target === undefined || values.runtime === undefined
    ? []
    : [`--target=${values.target}`, `--compile-executable-path=${resolve(values.runtime)}`]
const outfile = values.outfile === undefined ? join(root, "dist", "punctual") : resolve(values.outfile)

const git = (...args) => {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

/** What the executable is made from. */
const sources = [
  "agent",
  "api",
  "aws",
  "bus",
  "documents",
  "door",
  "egress",
  "http",
  "server",
  "sql",
  "telemetry",
  "web",
  "docs",
  "README.md",
  "CHANGELOG.md",
  "app",
  "drivers",
  "scripts",
  "package.json",
  "package-lock.json",
]

/**
 * The commit that `--version` shows. It says so if the sources have changes, and it is "unknown" if these sources are a
 * folder of another repository.
 */
const commit = () => {
  const head = git("rev-parse", "--short=7", "HEAD")
  if (head === undefined || git("rev-parse", "--show-prefix") !== "") return "unknown"
  return git("status", "--porcelain", "--", ...sources) === "" ? head : `${head} with changes`
}

/** Supports reproducible builds: https://reproducible-builds.org/specs/source-date-epoch */
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
    ...otherPlatform,
    // The executable reads only the documented settings. It ignores .env and bunfig files in its working directory.
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    `--define=PUNCTUAL_COMMIT=${JSON.stringify(commit())}`,
    `--define=PUNCTUAL_BUILT_AT=${JSON.stringify(builtAt())}`,
    `--outfile=${outfile}`,
    "app/src/main.ts",
    // The build must name these files, because the program loads them by their address and does not import them.
    "server/src/stores/sqlite/worker.ts",
    "agent/src/stores/sqlite/worker.ts",
  ],
  { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
)
if (built.status !== 0) {
  console.error("The executable was not built; the reason is above.")
  process.exit(1)
}
console.log(`${outfile}  ${(statSync(outfile).size / 2 ** 20).toFixed(0)} MiB`)
