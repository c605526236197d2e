// Moving the log's pages into the database file, by the writer, between commits: never inside one, so
// that no caller's answer waits for it. A little at a time under load, the rest when it is quiet, so the
// log stays bounded and a restart has little to recover.
import type { Database } from "bun:sqlite"

const mostLogPages = 16_000
const quietMs = 250

export class Checkpoints {
  readonly #database: Database
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** To be called after a commit has been answered. */
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

  /** All of the log, and leaves it empty; false if a reader was in the way for too long. */
  saveAll(): boolean {
    this.close()
    return Number(this.#database.query("PRAGMA wal_checkpoint(TRUNCATE)").values()[0]?.[0] ?? 1) === 0
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  /** The pages in the log. */
  #checkpoint(mode: "NOOP" | "PASSIVE"): number {
    return Number(this.#database.query(`PRAGMA wal_checkpoint(${mode})`).values()[0]?.[1] ?? 0)
  }
}
