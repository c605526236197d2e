// Are the files that were opened still those that lie at their paths? SQLite does not ask: it goes on writing into a
// file that was removed or replaced, and all of that is gone when the process ends. So the writer asks after each
// commit, before anything is acknowledged; renewals commit every second, so an idle service notices, too. What was
// written into the same file in place by another program cannot be seen this way.
import { statSync } from "node:fs"
import { codeOf } from "./failures.ts"

/** Where one of the files went, as seen from its path. */
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
  /** Whether the log's pages must, and can, be brought to safety: see `worker.ts`. */
  readonly isLogToBeSaved: boolean

  constructor(message: string, isLogToBeSaved: boolean) {
    super(message)
    this.isLogToBeSaved = isLogToBeSaved
  }
}

export class OpenedFiles {
  readonly #files: ReadonlyArray<Opened>

  /** To be made when the database has been opened and read from: only then are all of them there. */
  constructor(path: string) {
    this.#files = suffixes.map(([part, suffix]) => {
      const file = `${path}${suffix}`
      const identity = identityAt(file)
      if (identity === undefined) throw new Error(`${file} is not there although it was opened just now.`)
      return { part, path: file, identity }
    })
  }

  /** Throws `DisplacedFiles` if any of them is not what was opened. */
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
        ? "What was acknowledged is in the file that was there: put that back, without a -wal or -shm file of another, and start again"
        : "Start again, and leave the files beside the database alone while the service runs"
    return new DisplacedFiles(`${path} ${happened[state]} while the service ran. ${advice}`, isLogToBeSaved)
  }

  /**
   * A log that was removed, or whose database was, is the only place of what the database lacks. Where ours is the
   * database and the log is a stranger's, somebody else works on the file: it is left to them.
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
  unreachable: "could not be reached any more",
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
  // As big integers: file systems give numbers that others would round.
  const found = statSync(path, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}
