// Timers carry payloads, and headers with credentials: files that this program creates are the owner's alone, whatever the
// umask. They are created with that mode, so nobody else can open them in between. SQLite gives a database's log and
// index the mode of the database. Files and folders that are there keep their modes.
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"

const ownersFile = 0o600
const ownersFolder = 0o700

/** An empty file, which SQLite takes for a new database; nothing is done if there is a file. */
export const createIfMissing = (path: string): void => {
  if (!existsSync(path)) closeSync(openSync(path, "a", ownersFile))
}

/** An empty file; fails if there is one. */
export const createNew = (path: string): void => closeSync(openSync(path, "wx", ownersFile))

export const createFolderOf = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: ownersFolder })
}
