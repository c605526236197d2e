// The main thread's side of the thread that owns the SQLite file. If the thread fails, all waiting and later calls fail
// fatally, because the result of the running writes is unknown.
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { CallStoreError } from "../../ports/CallStore.ts"
import type { CallAnswer, CallArguments, CallFileRequest, CallFileResponse, TableCall } from "./calls.ts"

const mostWaiting = 10_000
const closeWithinMs = 5_000

interface Waiting {
  readonly succeed: (value: unknown) => void
  readonly fail: (error: CallStoreError) => void
}

export class CallThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #exited: Promise<void>
  readonly #onFatal: (message: string) => void
  #calls = 0
  #isClosing = false
  #broken: string | undefined

  private constructor(url: URL, path: string, onFatal: (message: string) => void) {
    this.#worker = new Worker(url, { workerData: { path } })
    this.#onFatal = onFatal
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", () => resolve())
    })
  }

  /** Resolves when the file is open. */
  static open(url: URL, path: string, onFatal: (message: string) => void): Promise<CallThread> {
    const thread = new CallThread(url, path, onFatal)
    return new Promise((resolve, reject) => {
      const end = (message: string): void => {
        reject(new Error(message))
        thread.#breakDown(message)
      }
      thread.#worker.on("message", (response: CallFileResponse) => {
        if (response.kind === "opened") resolve(thread)
        else if (response.kind === "openFailed") {
          thread.#isClosing = true
          end(response.message)
        } else thread.#receive(response)
      })
      thread.#worker.on("error", (error) => end(`The thread of the agent's store failed: ${String(error)}`))
      thread.#worker.on("exit", () => end("The thread of the agent's store ended."))
    })
  }

  call<Name extends TableCall>(
    name: Name,
    asked: CallArguments<Name>,
  ): Effect.Effect<CallAnswer<Name>, CallStoreError> {
    return Effect.callback((resume) => {
      const refusal = this.#refusal()
      if (refusal !== undefined) {
        resume(Effect.fail(refusal))
        return
      }
      const call = ++this.#calls
      this.#waiting.set(call, {
        succeed: (value) => resume(Effect.succeed(value as CallAnswer<Name>)),
        fail: (error) => resume(Effect.fail(error)),
      })
      this.#worker.postMessage({ call, name, asked } satisfies CallFileRequest)
    })
  }

  /** Lets the running calls finish, closes the file and ends the thread. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#broken === undefined) {
      this.#worker.postMessage({ close: true } satisfies CallFileRequest)
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, closeWithinMs)
      await Promise.race([this.#exited, promise])
      clearTimeout(timer)
    }
    await this.#worker.terminate()
    this.#failAll("The agent's store is closed.")
  }

  #refusal(): CallStoreError | undefined {
    if (this.#broken !== undefined) return new CallStoreError({ message: this.#broken, isFatal: true })
    if (this.#isClosing)
      return new CallStoreError({ message: "The agent's store is closed.", isFatal: false })
    if (this.#waiting.size < mostWaiting) return undefined
    return new CallStoreError({
      message: `${mostWaiting} calls already wait for the agent's store.`,
      isFatal: false,
    })
  }

  #receive(response: CallFileResponse): void {
    if (response.kind === "fatal") this.#breakDown(response.message)
    if (response.kind !== "answer" && response.kind !== "failed") return
    const waiting = this.#waiting.get(response.call)
    this.#waiting.delete(response.call)
    if (response.kind === "answer") waiting?.succeed(response.value)
    else waiting?.fail(new CallStoreError({ message: response.message, isFatal: false }))
  }

  #breakDown(message: string): void {
    if (this.#isClosing || this.#broken !== undefined) return
    this.#broken = message
    this.#onFatal(message)
    this.#failAll(message)
  }

  #failAll(message: string): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    const isFatal = this.#broken !== undefined
    for (const { fail } of waiting) fail(new CallStoreError({ message, isFatal }))
  }
}
