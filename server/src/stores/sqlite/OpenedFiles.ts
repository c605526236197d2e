// Checks whether the opened files are still the ones at their paths. SQLite does not check this: it keeps writing into
// a file that was removed or replaced, and all of that is lost when the process ends. So the writer checks after each
// commit, before anything is acknowledged. Renewals commit every second, so an idle service notices it as well. This
// check cannot see that another program has written into the same file.
import { statSync } from "node:fs"
import { codeOf } from "./failures.ts"

/** The state of one of the files at its path. */
type FileState = "same" | "missing" | "replaced" | "unreachable"

type Part = "database" | "log" | "index" | "lock"

interface Opened {
  readonly part: Part
  readonly path: string
  readonly identity: string | undefined
}

const suffixes: ReadonlyArray<readonly [Part, string]> = [
  ["database", ""],
  ["log", "-wal"],
  ["index", "-shm"],
  ["lock", ".lock"],
]

export class DisplacedFiles extends Error {
  /** Whether the log's pages must and can be saved: see `worker.ts`. */
  readonly isLogToBeSaved: boolean

  constructor(message: string, isLogToBeSaved: boolean) {
    super(message)
    this.isLogToBeSaved = isLogToBeSaved
  }
}

export class OpenedFiles {
  readonly #files: ReadonlyArray<Opened>

  /** Must be created after the database has been opened and read, because only then do all files exist. */
  constructor(path: string) {
    this.#files = suffixes.map(([part, suffix]) => {
      const file = `${path}${suffix}`
      const identity = identityAt(file)
      if (identity === undefined) throw new Error(`${file} does not exist although it was just opened.`)
      return { part, path: file, identity }
    })
  }

  /** Throws `DisplacedFiles` if one of the files is not the one that was opened. */
  check(): void {
    for (const file of this.#files) {
      const state = fileStateOf(file)
      if (state !== "same") throw this.#displaced(file, state)
    }
  }

  #displaced({ part, path }: Opened, state: Exclude<FileState, "same">): DisplacedFiles {
    const isLogToBeSaved = this.#isLogToBeSaved()
    const advice =
      part === "database"
        ? "The acknowledged data is in the original file: put it back, without the -wal or -shm file of another database, and start again"
        : "Start again, and do not touch the files beside the database while the service runs"
    return new DisplacedFiles(`${path} ${happened[state]} while the service ran. ${advice}`, isLogToBeSaved)
  }

  /**
   * If the log or its database was removed, the log is the only place with data that the database lacks. If the
   * database is the opened one and the log is a foreign one, another program works on the file and keeps its log.
   */
  #isLogToBeSaved(): boolean {
    const [database, log] = this.#files.map(fileStateOf)
    if (log === "replaced" || log === "unreachable") return database !== "same"
    return database !== "same" || log === "missing"
  }
}

const happened: Readonly<Record<Exclude<FileState, "same">, string>> = {
  missing: "was removed",
  replaced: "was replaced by another file",
  unreachable: "could no longer be reached",
}

const fileStateOf = ({ path, identity }: Opened): FileState => {
  try {
    const now = identityAt(path)
    if (now === undefined) return "missing"
    return now === identity ? "same" : "replaced"
  } catch (error) {
    // A folder of its path has become a file.
    return codeOf(error) === "ENOTDIR" ? "missing" : "unreachable"
  }
}

const identityAt = (path: string): string | undefined => {
  // As big integers, because file systems return numbers that would be rounded otherwise.
  const found = statSync(path, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}
