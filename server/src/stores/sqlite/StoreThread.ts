// The main thread's side of a thread of the store: it sends calls and receives answers. If the thread fails or ends
// unexpectedly, all waiting and later calls fail fatally, because the result of the running writes is unknown.
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { StoreError } from "../../ports/TimerStore.ts"
import type { ThreadOptions, ThreadRequest, ThreadResponse } from "./calls.ts"
import { OpenFailure } from "./OpenFailure.ts"

const mostWaiting = 1_000
const closeMs = 5_000

/** Shared by the threads of one store. If one of them fails, all fail. */
export class SharedEnd {
  readonly #onFatal: (message: string) => void
  readonly #listeners: Array<() => void> = []
  #message: string | undefined

  constructor(onFatal: (message: string) => void) {
    this.#onFatal = onFatal
  }

  get message(): string | undefined {
    return this.#message
  }

  onEnd(listener: () => void): void {
    this.#listeners.push(listener)
  }

  end(message: string): void {
    if (this.#message !== undefined) return
    this.#message = message
    // Called before the waiting calls fail: each of them would log the failure, and the process is about to end.
    this.#onFatal(message)
    for (const listener of this.#listeners) listener()
  }
}

type AnyCalls<Calls> = { [method in keyof Calls]: (args: never) => unknown }

/** What a thread says while it opens. */
export interface OpeningEvents {
  readonly onProgress?: (message: string) => void
  readonly onFileReady?: () => void
}

interface Waiting {
  readonly succeed: (value: unknown) => void
  readonly fail: (error: StoreError) => void
}

export class StoreThread<Calls extends AnyCalls<Calls>> {
  readonly #worker: Worker
  readonly #sharedEnd: SharedEnd
  readonly #name: string
  readonly #waiting = new Map<number, Waiting>()
  readonly #exited: Promise<void>
  #calls = 0
  #isClosing = false

  private constructor(url: URL, options: ThreadOptions, sharedEnd: SharedEnd) {
    this.#sharedEnd = sharedEnd
    this.#name = options.role
    this.#worker = new Worker(url, { workerData: options })
    sharedEnd.onEnd(() => this.#failAll())
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", () => resolve())
    })
  }

  /** Resolves when the thread has opened the database. Rejects with an `OpenFailure`. */
  static open<Calls extends AnyCalls<Calls>>(
    url: URL,
    options: ThreadOptions,
    sharedEnd: SharedEnd,
    { onProgress, onFileReady }: OpeningEvents = {},
  ): Promise<StoreThread<Calls>> {
    const thread = new StoreThread<Calls>(url, options, sharedEnd)
    return new Promise((resolve, reject) => {
      const fail = (message: string): void => {
        thread.#isClosing = true
        reject(new OpenFailure("failed", message))
      }
      let isOpen = false
      thread.#worker.on("message", (response: ThreadResponse) => {
        if (response.kind === "opened") {
          isOpen = true
          resolve(thread)
        } else if (response.kind === "openFailed") {
          thread.#isClosing = true
          reject(new OpenFailure(response.reason, response.message))
        } else if (response.kind === "progress") onProgress?.(response.message)
        else if (response.kind === "fileReady") onFileReady?.()
        else thread.#receive(response)
      })
      thread.#worker.on("error", (error) => {
        const message = `The store's ${thread.#name} thread failed: ${error instanceof Error ? error.message : String(error)}`
        if (isOpen) sharedEnd.end(message)
        else fail(message)
      })
      thread.#worker.on("exit", () => {
        const message = `The store's ${thread.#name} thread ended.`
        if (!isOpen) fail(message)
        else if (!thread.#isClosing) sharedEnd.end(message)
      })
    })
  }

  call<Method extends keyof Calls & string>(
    method: Method,
    args: Parameters<Calls[Method]>[0],
    transfer: ReadonlyArray<ArrayBuffer> = [],
  ): Effect.Effect<ReturnType<Calls[Method]>, StoreError> {
    return Effect.callback((resume) => {
      const refusal = this.#refusal()
      if (refusal !== undefined) {
        resume(Effect.fail(refusal))
        return undefined
      }
      const call = ++this.#calls
      this.#waiting.set(call, {
        succeed: (value) => resume(Effect.succeed(value as ReturnType<Calls[Method]>)),
        fail: (error) => resume(Effect.fail(error)),
      })
      const request: ThreadRequest = { call, method, args }
      this.#worker.postMessage(request, transfer)
      return Effect.sync(() => {
        if (this.#waiting.delete(call)) this.#worker.postMessage({ drop: call } satisfies ThreadRequest)
      })
    })
  }

  /** Lets the running calls finish, closes the database and ends the thread. A failed thread ends at once. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#sharedEnd.message === undefined) {
      this.#worker.postMessage({ close: true } satisfies ThreadRequest)
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, closeMs)
      await Promise.race([this.#exited, promise])
      clearTimeout(timer)
    }
    await this.#worker.terminate()
    this.#failAll()
  }

  #refusal(): StoreError | undefined {
    if (this.#sharedEnd.message !== undefined)
      return new StoreError({ message: this.#sharedEnd.message, isFatal: true })
    if (this.#isClosing) return new StoreError({ message: "The store is closed.", isFatal: false })
    if (this.#waiting.size < mostWaiting) return undefined
    return new StoreError({ message: `${mostWaiting} calls already wait for the store.`, isFatal: false })
  }

  #receive(response: ThreadResponse): void {
    if (response.kind === "fatal") this.#sharedEnd.end(response.message)
    if (response.kind !== "answer" && response.kind !== "failed") return
    const waiting = this.#waiting.get(response.call)
    this.#waiting.delete(response.call)
    if (response.kind === "answer") waiting?.succeed(response.value)
    else waiting?.fail(new StoreError({ message: response.message, isFatal: false }))
  }

  #failAll(): void {
    const message = this.#sharedEnd.message ?? "The store is closed."
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { fail } of waiting) {
      fail(new StoreError({ message, isFatal: this.#sharedEnd.message !== undefined }))
    }
  }
}
