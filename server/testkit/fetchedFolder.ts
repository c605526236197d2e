// Programs that tests fetch once into the cache folder of the user, where all clones find them. One process fetches. The
// others wait for it, and never see a half-filled folder.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"

const askEveryMs = 200
const fetchWithinMs = 600_000
/** A process needs less time than this to write its number into its lock. */
const namelessLockMs = 10_000

export interface Fetching {
  /** Unique among everything that is fetched. It contains the version, so that a new version is fetched again. */
  readonly name: string
  /** Fills the folder, which exists and is empty. Returns false if that failed. */
  fill(folder: string): boolean
  /** How long other processes wait for the one that fetches. */
  readonly withinMs?: number
}

/** The folder with the fetched files, or undefined if they could not be fetched. */
export const fetchedFolder = ({ name, fill, withinMs = fetchWithinMs }: Fetching): string | undefined => {
  const folder = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "punctual", "servers", name)
  const lock = `${folder}.lock`
  mkdirSync(dirname(folder), { recursive: true })
  const deadline = performance.now() + withinMs
  while (!isThere(folder) && !isLockTaken(lock)) {
    if (performance.now() > deadline) return undefined
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, askEveryMs)
  }
  if (isThere(folder)) return folder
  const partial = `${folder}.partial`
  try {
    if (isThere(folder)) return folder
    rmSync(partial, { recursive: true, force: true })
    mkdirSync(partial)
    if (!fill(partial)) return undefined
    renameSync(partial, folder)
    return folder
  } finally {
    rmSync(partial, { recursive: true, force: true })
    rmSync(lock, { recursive: true, force: true })
  }
}

/** A folder can be created only once, so it works as a lock. The lock of a process that has ended is removed. */
const isLockTaken = (lock: string): boolean => {
  try {
    mkdirSync(lock)
  } catch {
    if (!isHeld(lock)) rmSync(lock, { recursive: true, force: true })
    return false
  }
  writeFileSync(join(lock, "pid"), String(process.pid))
  return true
}

const isHeld = (lock: string): boolean => {
  try {
    process.kill(Number(readFileSync(join(lock, "pid"), "utf8")), 0)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EPERM") return true
    const isNameless = error instanceof Error && "code" in error && error.code === "ENOENT"
    return (
      isNameless && Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0) < namelessLockMs
    )
  }
}

const isThere = (folder: string): boolean => statSync(folder, { throwIfNoEntry: false }) !== undefined
