// Lets one process at a time install into a folder. Two first starts at the same time would otherwise run `npm ci` twice,
// and each would remove what the other has just installed.
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"

/** npm removes node_modules, so the lock is beside it. */
const lockFileOf = (folder) => join(folder, ".punctual-installing")
const lookEveryMs = 100
/** Longer than an installation may take (install.mjs). */
const staleAfterMs = 20 * 60_000

/**
 * Runs the work while no other process installs into the folder, and returns its result. It waits for another process,
 * but not for one that has ended, and not for one whose lock is too old.
 */
export const withInstallLock = (folder, say, work) => {
  const file = lockFileOf(folder)
  const own = `${process.pid} ${hostname()}`
  let hasSaid = false
  for (;;) {
    const taken = take(file, own)
    if (taken === "unwritable") return work()
    if (taken === "taken") break
    if (isStale(file)) {
      rmSync(file, { force: true })
      continue
    }
    if (!hasSaid) say(`Another process installs into ${folder}. Waiting for it …`)
    hasSaid = true
    pause(lookEveryMs)
  }
  try {
    return work()
  } finally {
    rmSync(file, { force: true })
  }
}

/** In a folder that cannot be written, npm says so better than the lock. */
const take = (file, own) => {
  try {
    writeFileSync(file, own, { flag: "wx" })
    return "taken"
  } catch (error) {
    return error.code === "EEXIST" ? "held" : "unwritable"
  }
}

/** The number of a process says nothing about a process of another machine that shares the folder. */
const isStale = (file) => {
  try {
    const [pid, host] = readFileSync(file, "utf8").split(" ")
    const { mtimeMs } = statSync(file)
    return Date.now() - mtimeMs > staleAfterMs || (host === hostname() && !isAlive(Number(pid)))
  } catch {
    // It has just been removed, or the lock is just being written.
    return false
  }
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

/** Nothing else runs in this process, so it may block. */
const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
