// Timers contain payloads, and headers with credentials. So only the owner can read files that this program creates,
// regardless of the umask. They are created with that mode, so no other user can open them in between. SQLite gives a
// database's log and index the mode of the database. Existing files and folders keep their modes.
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"

const ownersFile = 0o600
const ownersFolder = 0o700

/** Creates an empty file, which SQLite treats as a new database. Does nothing if the file exists. */
export const createIfMissing = (path: string): void => {
  if (!existsSync(path)) closeSync(openSync(path, "a", ownersFile))
}

/** Creates an empty file. Fails if the file exists. */
export const createNew = (path: string): void => closeSync(openSync(path, "wx", ownersFile))

export const createFolderOf = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: ownersFolder })
}
