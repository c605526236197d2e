// Bare select and delete in a separate thread, in parallel with another measured work. A store must do the same while
// timers are delivered. The rows are there before the measurement begins.
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"

export class EmptyingThread implements Disposable {
  readonly #folder = new TemporaryFolder()
  readonly #worker = new Worker(new URL("./emptying.ts", import.meta.url).href)
  readonly #rows: number

  private constructor(rows: number) {
    this.#rows = rows
  }

  static async filled(rows: number): Promise<EmptyingThread> {
    const thread = new EmptyingThread(rows)
    await thread.#ask("fill")
    return thread
  }

  /** Resolves when the last row is deleted. */
  async empty(): Promise<void> {
    await this.#ask("empty")
  }

  [Symbol.dispose](): void {
    this.#worker.terminate()
    this.#folder[Symbol.dispose]()
  }

  #ask(task: Task["task"]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#worker.onmessage = () => resolve()
      this.#worker.onerror = ({ message }) => reject(new Error(message))
      this.#worker.postMessage({ task, rows: this.#rows, folder: this.#folder.path } satisfies Task)
    })
  }
}

export interface Task {
  readonly task: "fill" | "empty"
  readonly rows: number
  /** The folder of its tables. */
  readonly folder: string
}
