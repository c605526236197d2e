// Replaces a store with a copy. The process holds the store's lock, so that no service runs on it or starts meanwhile.
// The copy is prepared under another name, and gets the store's name by a rename, which is atomic. Before that, the old
// store's log must be gone, because SQLite would replay it into the new file. So the log is first moved into the old
// file, which keeps everything that it had.
import { Database } from "bun:sqlite"
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { dirname } from "node:path"
import { bytesOf, checkNotCutOff } from "./damage.ts"
import { codeOf, isDamage } from "./failures.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { openAlone, openBeside } from "./openBeside.ts"
import { acquire, explaining, lockOf, numberIn } from "./openDatabase.ts"
import { ProcessLock } from "./ProcessLock.ts"
import { noteTable, permissionsOf, syncFile, syncFolderOf, vacuumInto, writing } from "./SqliteBackup.ts"

/**
 * How far epochs are increased. A shard is claimed once per start. So the new epochs are higher than all that the store
 * has claimed since the copy was made, even if the store itself is lost and cannot be read.
 */
const epochsAhead = 1_000_000

export class RestorePlace {
  readonly #path: string
  readonly #lock: ProcessLock

  constructor(path: string) {
    this.#path = path
    if (!existsSync(dirname(path))) {
      throw new OpenFailure(
        "missing",
        `There is no folder ${dirname(path)}: create it, or name another file.`,
      )
    }
    const isNewLock = !existsSync(lockOf(path))
    this.#lock = explaining(lockOf(path), () => new ProcessLock(lockOf(path)))
    if (!acquire(this.#lock, path)) {
      this.#lock.close()
      throw new OpenFailure(
        "inUse",
        `A service runs on ${path}: stop it first, and start it again afterwards.`,
      )
    }
    if (isNewLock) {
      if (this.isTaken) chmodSync(lockOf(path), permissionsOf(path))
      ownAs(lockOf(path), this.#ownerFile)
    }
  }

  get isTaken(): boolean {
    return existsSync(this.#path)
  }

  /** The prepared file has no log, and nothing in it marks it as a backup. */
  prepare(file: string, prepared: string): void {
    const floor = this.#highestEpoch()
    // Removes what an earlier run may have left.
    removeBeside(prepared)
    rmSync(`${prepared}.lock`, { force: true })
    const { database } = openAlone(file)
    try {
      writing(prepared, () => vacuumInto(database, prepared))
    } finally {
      database.close()
    }
    const copy = new Database(prepared, { readwrite: true })
    try {
      copy.run(`DROP TABLE IF EXISTS ${noteTable}`)
      copy.run(
        "UPDATE shards SET epoch = max(epoch, ?1) + ?2, counter = counter + 1, foreign_writes = foreign_writes + 1, node = NULL",
        [floor, epochsAhead],
      )
    } finally {
      copy.close()
    }
    // A replaced store keeps its file mode. Only the owner can read a new one.
    if (this.isTaken) chmodSync(prepared, permissionsOf(this.#path) | 0o600)
    ownAs(prepared, this.#ownerFile)
  }

  put(prepared: string, keepAs: string | undefined): void {
    settleLog(prepared)
    removeBeside(prepared)
    rmSync(`${prepared}.lock`, { force: true })
    syncFile(prepared)
    if (this.isTaken) {
      if (keepAs === undefined) throw new Error("an existing store is replaced only if it is kept")
      this.#keep(keepAs)
    } else {
      setLogAside(this.#path)
    }
    renameSync(prepared, this.#path)
    syncFolderOf(this.#path)
  }

  close(): void {
    this.#lock.close()
  }

  get #ownerFile(): string {
    return existsSync(this.#path) ? this.#path : dirname(this.#path)
  }

  /** The highest epoch of the store to be replaced. 0 if it cannot be read. */
  #highestEpoch(): number {
    if (!this.isTaken) return 0
    try {
      const { database } = openBeside(this.#path)
      try {
        return numberIn(database, "SELECT max(epoch) FROM shards")
      } finally {
        database.close()
      }
    } catch {
      return 0
    }
  }

  /** Until the rename, the old store stays complete at its place. */
  #keep(keepAs: string): void {
    try {
      settleLog(this.#path)
    } catch (error) {
      if (!isDamage(error) && !isDamagedStore(error) && !codeOf(error).startsWith("SQLITE_IOERR")) throw error
      // The log cannot be moved into the file, so it is kept beside it, in case somebody tries to repair the two.
      if (bytesOf(`${this.#path}-wal`) > 0) secondName(`${this.#path}-wal`, `${keepAs}-wal`)
    }
    secondName(this.#path, keepAs)
    syncFolderOf(keepAs)
    removeBeside(this.#path)
  }
}

/** Moves the contents of the file's log into the file. */
const settleLog = (path: string): void => {
  checkNotCutOff(path)
  const database = new Database(path, { readwrite: true })
  try {
    const [busy] = database.query("PRAGMA wal_checkpoint(TRUNCATE)").values()[0] ?? []
    if (Number(busy) !== 0) {
      throw new OpenFailure(
        "inUse",
        `${path} is being read, perhaps by an export or a backup: wait until that has finished, and try again.`,
      )
    }
  } finally {
    database.close()
  }
}

const isDamagedStore = (error: unknown): boolean => error instanceof OpenFailure && error.reason === "damaged"

/** Removes the log and its index. The file must be closed, and its log must be empty or kept elsewhere. */
const removeBeside = (path: string): void => {
  for (const ending of ["-wal", "-shm", "-journal"]) rmSync(`${path}${ending}`, { force: true })
}

/** Keeps the log of a database that is gone, in case somebody still has the database. Its name contains its time. */
const setLogAside = (path: string): void => {
  const log = `${path}-wal`
  if (bytesOf(log) > 0) renameSync(log, `${log}.before-restore-${Math.floor(statSync(log).mtimeMs)}`)
  removeBeside(path)
}

/** A file system without hard links gets a copy. */
const secondName = (path: string, name: string): void => {
  try {
    linkSync(path, name)
  } catch (error) {
    if (!/^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS|EMLINK)$/.test(codeOf(error))) throw error
    copyFileSync(path, name)
    syncFile(name)
  }
}

/** An administrator restores, but the service may run as another user. Only an administrator may change owners. */
const ownAs = (file: string, like: string): void => {
  const { uid, gid } = statSync(like)
  try {
    chownSync(file, uid, gid)
  } catch (error) {
    if (codeOf(error) !== "EPERM") throw error
  }
}
