// The executables of a release, one for each platform. A build for another platform needs its runtime, which is a
// package of the npm registry.
import { type ExecFileSyncOptions, execFileSync, spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import rootManifest from "../../package.json" with { type: "json" }
import { root } from "../repository.ts"

export interface Platform {
  /** The name of the executable and of its package, such as `linux-x64`. */
  readonly name: string
  /** The package of the runtime, without its scope. */
  readonly runtime: string
  /** How the build calls the platform. */
  readonly target: string
  /** Where npm installs the package of this platform. Absent if there is none. */
  readonly npm?: { readonly os: string; readonly cpu: string; readonly libc?: "glibc" | "musl" }
}

/** Processors without AVX2 need `baseline`. npm cannot choose by that, so its packages for x64 are `baseline`. */
export const platforms: ReadonlyArray<Platform> = [
  { name: "linux-x64", runtime: "bun-linux-x64", target: "bun-linux-x64" },
  {
    name: "linux-x64-baseline",
    runtime: "bun-linux-x64-baseline",
    target: "bun-linux-x64-baseline",
    npm: { os: "linux", cpu: "x64", libc: "glibc" },
  },
  {
    name: "linux-arm64",
    runtime: "bun-linux-aarch64",
    target: "bun-linux-arm64",
    npm: { os: "linux", cpu: "arm64", libc: "glibc" },
  },
  {
    name: "linux-x64-musl",
    runtime: "bun-linux-x64-musl-baseline",
    target: "bun-linux-x64-musl-baseline",
    npm: { os: "linux", cpu: "x64", libc: "musl" },
  },
  {
    name: "linux-arm64-musl",
    runtime: "bun-linux-aarch64-musl",
    target: "bun-linux-arm64-musl",
    npm: { os: "linux", cpu: "arm64", libc: "musl" },
  },
  {
    name: "darwin-x64",
    runtime: "bun-darwin-x64-baseline",
    target: "bun-darwin-x64-baseline",
    npm: { os: "darwin", cpu: "x64" },
  },
  {
    name: "darwin-arm64",
    runtime: "bun-darwin-aarch64",
    target: "bun-darwin-arm64",
    npm: { os: "darwin", cpu: "arm64" },
  },
  {
    name: "windows-x64",
    runtime: "bun-windows-x64-baseline",
    target: "bun-windows-x64-baseline",
    npm: { os: "win32", cpu: "x64" },
  },
]

export const executableName = ({ name }: Platform): string =>
  name.startsWith("windows") ? `punctual-${name}.exe` : `punctual-${name}`

/** Builds the executable into the folder. Returns why it could not be built, or undefined. */
export const buildExecutable = (platform: Platform, folder: string): string | undefined => {
  const runtime = runtimeOf(platform)
  if (runtime === undefined) return `the runtime @oven/${platform.runtime} could not be fetched`
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, executableName(platform))
  const args = ["scripts/build.mjs", "--outfile", outfile, "--target", platform.target, "--runtime", runtime]
  const { status } = spawnSync("node", args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] })
  if (status !== 0 || !existsSync(outfile)) return "the build failed; its message is above"
  chmodSync(outfile, 0o755)
  return undefined
}

const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "punctual", "runtimes")

/** The runtime of the platform, from the cache or from the npm registry; undefined if it cannot be fetched. */
const runtimeOf = ({ runtime }: Platform): string | undefined => {
  const version = rootManifest.dependencies.bun
  const file = join(cache, `${runtime}-${version}`)
  if (existsSync(file)) return file
  const work = join(cache, `partial-${runtime}-${process.pid}`)
  mkdirSync(work, { recursive: true })
  try {
    const options: ExecFileSyncOptions = { cwd: work, stdio: ["ignore", "ignore", "inherit"] }
    execFileSync("npm", ["pack", "--silent", `@oven/${runtime}@${version}`], options)
    const archive = readdirSync(work).find((name) => name.endsWith(".tgz"))
    if (archive === undefined) return undefined
    execFileSync("tar", ["-xzf", archive], options)
    const program = readdirSync(join(work, "package/bin")).find((name) => /^bun(?:\.exe)?$/.test(name))
    if (program === undefined) return undefined
    copyFileSync(join(work, "package/bin", program), `${file}.partial`)
    renameSync(`${file}.partial`, file)
    return file
  } catch {
    return undefined
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
