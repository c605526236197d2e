// Programs from a newer Debian suite than the machine's own, with all their libraries. apt-get works in folders of its
// own here, so nothing is installed, no list of the machine changes, and root is not needed. apt-get checks signatures.
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fetchedFolder } from "./fetchedFolder.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

/** `folder` is the root of the unpacked packages. */
export type DebianSuite = { readonly folder: string } | { readonly missing: string }

export interface DebianSuiteOptions {
  /** For people, such as `MySQL`. */
  readonly title: string
  /** Changes whenever something else must be fetched, such as `mysql-1`. */
  readonly name: string
  readonly suite: string
  readonly packages: ReadonlyArray<string>
  /** Packages that the named ones depend on, but that a server in a test does not need. */
  readonly without?: ReadonlyArray<string>
  /** Prepares the unpacked files. Returns false if that failed. */
  finish?(folder: string): boolean
}

const fetchWithinMs = 600_000
/** They are needed to install packages, not to run programs. */
const installers = [
  "adduser",
  "debconf",
  "dpkg",
  "passwd",
  "perl",
  "perl-base",
  "systemd",
  "init-system-helpers",
]

const found = new Map<string, DebianSuite>()

export const debianSuite = (options: DebianSuiteOptions): DebianSuite => {
  const known = found.get(options.name) ?? locate(options)
  found.set(options.name, known)
  return known
}

const locate = (options: DebianSuiteOptions): DebianSuite => {
  const folder = fetchedFolder({ name: options.name, fill: (into) => isFilled(options, into) })
  return folder === undefined
    ? { missing: `no ${options.title}: it comes from Debian's packages, and apt-get could not fetch them` }
    : { folder }
}

/**
 * How to start a program of the suite: with the suite's own loader and libraries. LD_LIBRARY_PATH would also reach the
 * programs of the machine that the server starts, and these need the machine's libraries.
 */
export const suiteCommand = (
  folder: string,
  program: string,
): { readonly command: string; readonly args: ReadonlyArray<string> } => {
  const libraries = join(folder, "usr/lib/x86_64-linux-gnu")
  return {
    command: join(libraries, "ld-linux-x86-64.so.2"),
    args: ["--library-path", libraries, join(folder, program)],
  }
}

const isFilled = (options: DebianSuiteOptions, into: string): boolean => {
  const { title, suite, packages, without = [], finish } = options
  using work = new TemporaryFolder()
  try {
    process.stderr.write(`The tests need ${title}: apt-get download ${packages.join(" ")} (${suite})\n`)
    const apt = aptOf(suite, work.path)
    apt("update")
    const plan = apt("install", "--simulate", "--no-install-recommends", ...packages)
    const planned = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name = ""]) => name)
    const unwanted = new Set([...installers, ...without])
    const downloads = join(work.path, "downloads")
    apt("download", ...planned.filter((name) => !unwanted.has(name) && !name.startsWith("perl-modules")))
    for (const file of readdirSync(downloads)) execFileSync("dpkg-deb", ["-x", join(downloads, file), into])
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    process.stderr.write(`That failed: ${what}\n`)
    return false
  }
  return finish?.(into) ?? true
}

/** Runs apt-get with the lists of one suite, and with nothing installed. */
const aptOf = (suite: string, folder: string) => {
  const path = (name: string): string => join(folder, name)
  for (const name of ["state/lists/partial", "cache/archives/partial", "downloads"]) {
    mkdirSync(path(name), { recursive: true })
  }
  writeFileSync(path("status"), "")
  writeFileSync(path("sources.list"), `deb ${debianMirror()} ${suite} main\n`)
  const options = {
    "Dir::Etc::sourcelist": path("sources.list"),
    "Dir::Etc::sourceparts": "-",
    "Dir::State": path("state"),
    "Dir::State::status": path("status"),
    "Dir::Cache": path("cache"),
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    // Another user, who downloads for root, cannot enter the folder.
    "APT::Sandbox::User": "root",
  }
  const flags = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`])
  return (...args: ReadonlyArray<string>): string =>
    execFileSync("apt-get", [...flags, ...args], {
      cwd: path("downloads"),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
      timeout: fetchWithinMs,
      maxBuffer: 64 * 1024 * 1024,
    })
}

/** The mirror that the machine's own apt-get uses. */
const debianMirror = (): string => {
  const args = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
  const repositories = execFileSync("apt-get", args, { encoding: "utf8" }).split("\n")
  const mirror = repositories.find((uri) => /\/debian\/?$/.test(uri))
  if (mirror === undefined) throw new Error("no Debian mirror among the sources of apt-get")
  return mirror
}
