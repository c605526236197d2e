// Proves that no other process owns the store: an exclusive transaction on a small file beside the database, held for
// the life of the process. The operating system releases it with the process, no matter how that ends. So a process
// that gets the lock knows that its predecessor is dead. A frozen process keeps the lock, because it is not dead.
import { Database } from "bun:sqlite"
import { codeOf } from "./failures.ts"
import { createIfMissing } from "./newFiles.ts"

export class ProcessLock {
  readonly #file: Database
  #isHeld = false

  constructor(path: string) {
    createIfMissing(path)
    this.#file = new Database(path, { readwrite: true })
    this.#file.run("PRAGMA busy_timeout = 0")
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Returns whether the lock is held now. Does not wait. */
  tryAcquire(): boolean {
    if (this.#isHeld) return true
    try {
      this.#file.run("BEGIN EXCLUSIVE")
      this.#isHeld = true
    } catch (error) {
      if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error
    }
    return this.#isHeld
  }

  close(): void {
    this.#isHeld = false
    this.#file.close()
  }
}
