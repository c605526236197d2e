// Programs that tests and benchmarks need, from Debian's packages. The packages are downloaded and unpacked into a
// folder but not installed, so this needs no root.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { TemporaryFolder } from "./TemporaryFolder.ts"

const fetchWithinMs = 300_000

/**
 * Unpacks the packages below `into`; false if they are not available. Other processes never see a half-filled folder.
 * `why` begins the line that says what is fetched.
 */
export const unpackDebian = (packages: ReadonlyArray<string>, into: string, why: string): boolean => {
  using folder = new TemporaryFolder()
  const run = (command: string, ...args: ReadonlyArray<string>): boolean => {
    process.stderr.write(`${why}: ${command} ${args.join(" ")}\n`)
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

/** The folders of the unpacked libraries, for LD_LIBRARY_PATH. */
export const librariesBelow = (folder: string): string => {
  const libraries = join(folder, "usr", "lib")
  return existsSync(libraries)
    ? readdirSync(libraries)
        .map((name) => join(libraries, name))
        .join(":")
    : ""
}
