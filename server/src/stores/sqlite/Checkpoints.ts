// Moves the log's pages into the database file. The writer does this between commits, never inside one, so that no
// caller's answer waits for it. Under load it moves a little at a time, and the rest when it is idle. So the log stays
// bounded, and a restart has little to recover.
import type { Database } from "bun:sqlite"

const mostLogPages = 4_000
const quietMs = 250

export class Checkpoints {
  readonly #database: Database
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Must be called after a commit has been answered. */
  afterCommit(onError: (error: unknown) => void): void {
    const logPages = this.#checkpoint("NOOP")
    if (logPages >= mostLogPages) this.#checkpoint("PASSIVE")
    else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        try {
          this.#checkpoint("PASSIVE")
        } catch (error) {
          onError(error)
        }
      }, quietMs)
    }
  }

  /** Moves the whole log and leaves it empty. False if a reader blocked it for too long. */
  saveAll(): boolean {
    this.close()
    return Number(this.#database.query("PRAGMA wal_checkpoint(TRUNCATE)").values()[0]?.[0] ?? 1) === 0
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  /** Returns the number of pages in the log. */
  #checkpoint(mode: "NOOP" | "PASSIVE"): number {
    return Number(this.#database.query(`PRAGMA wal_checkpoint(${mode})`).values()[0]?.[1] ?? 0)
  }
}
