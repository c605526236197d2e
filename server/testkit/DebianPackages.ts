// Programs that tests and benchmarks need, from Debian's packages. The packages are downloaded and unpacked into a
// folder but not installed, so this needs no root.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { dirname, join, sep } from "node:path"
import { TemporaryFolder } from "./TemporaryFolder.ts"

const fetchWithinMs = 300_000

/**
 * Unpacks the packages below `into`; false if they are not available. Other processes never see a half-filled folder.
 * `why` begins the line that says what is fetched.
 */
export const unpackDebian = (packages: ReadonlyArray<string>, into: string, why: string): boolean => {
  using folder = new TemporaryFolder()
  const run = (command: string, ...args: ReadonlyArray<string>): boolean => {
    if (command === "apt-get") process.stderr.write(`${why}: ${command} ${args.join(" ")}\n`)
    try {
      execFileSync(command, args, {
        cwd: folder.path,
        stdio: ["ignore", "ignore", "inherit"],
        timeout: fetchWithinMs,
      })
      return true
    } catch {
      process.stderr.write(`That failed: ${command} ${args.join(" ")}\n`)
      return false
    }
  }
  const download = () => run("apt-get", "download", ...packages)
  // A fresh machine has no package lists yet. Only root can fetch them.
  if (!download() && !(process.getuid?.() === 0 && run("apt-get", "update") && download())) return false
  const archives = readdirSync(folder.path).filter((file) => file.endsWith(".deb"))
  if (!archives.every((archive) => run("dpkg-deb", "-x", archive, "unpacked"))) return false
  const partial = `${into}-partial-${process.pid}`
  mkdirSync(dirname(into), { recursive: true })
  // Libraries have several names there. Each name is a link to the next one in the same folder.
  cpSync(join(folder.path, "unpacked"), partial, { recursive: true, verbatimSymlinks: true })
  try {
    renameSync(partial, into)
  } catch {
    // Another process was faster.
    rmSync(partial, { recursive: true, force: true })
  }
  return existsSync(into)
}

/**
 * The packages that apt-get would install for these: they themselves, and the libraries that this machine lacks. The
 * list is empty if apt-get does not know the packages, or if they are installed.
 */
export const withMissingLibraries = (packages: ReadonlyArray<string>): ReadonlyArray<string> => {
  const simulated = (): ReadonlyArray<string> => {
    try {
      const args = ["install", "--simulate", "--no-install-recommends", ...packages]
      const plan = execFileSync("apt-get", args, {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
        timeout: fetchWithinMs,
      })
      return [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name = ""]) => name)
    } catch {
      return []
    }
  }
  const planned = simulated()
  if (planned.length > 0 || process.getuid?.() !== 0) return planned
  // A fresh machine has no package lists yet.
  try {
    execFileSync("apt-get", ["update"], { stdio: ["ignore", "ignore", "inherit"], timeout: fetchWithinMs })
  } catch {
    return []
  }
  return simulated()
}

/** The folders of the unpacked libraries, for LD_LIBRARY_PATH. */
export const librariesBelow = (folder: string): string => {
  const folders = ["lib", join("usr", "lib")]
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path))
    .flatMap((path) =>
      readdirSync(path, { recursive: true, encoding: "utf8" })
        .filter((file) => /^lib[^/]*\.so(?:\.|$)/.test(file.slice(file.lastIndexOf(sep) + 1)))
        .map((file) => dirname(join(path, file))),
    )
  return [...new Set(folders)].join(":")
}
