// The receiver of the webhook benchmarks, in a separate process. It counts deliveries and records how late each was.
import { eventually } from "@punctual/server/testkit/eventually"
import { ChildServer } from "./ChildServer.ts"

export class Receiver implements AsyncDisposable {
  readonly #server: ChildServer

  private constructor(server: ChildServer) {
    this.#server = server
  }

  static async start(): Promise<Receiver> {
    return new Receiver(await ChildServer.start(new URL("./bare/receiver.ts", import.meta.url)))
  }

  /** Answers at once. */
  get plainUrl(): string {
    return `${this.#server.url}/plain`
  }

  /** Answers at once, and records how late the delivery is. */
  get timingUrl(): string {
    return `${this.#server.url}/timing`
  }

  /** Answers at once, and records which timer arrived, and when. `host` is another name of this machine. */
  recordingUrl(host?: string): string {
    const url = new URL("/recording", this.#server.url)
    if (host !== undefined) url.hostname = host
    return url.href
  }

  async forget(): Promise<void> {
    await fetch(`${this.#server.url}/forget`)
  }

  /** Resolves when `count` deliveries have arrived. */
  async delivered(count: number, withinMs: number): Promise<void> {
    await eventually(
      `${count} deliveries`,
      async () => ((await this.#ask<number>("/deliveries")) >= count ? true : undefined),
      withinMs,
    )
  }

  /** Waits until `count` deliveries have arrived. Returns how late each delivery at the timing URL was. */
  async latenessMs(count: number, withinMs: number): Promise<ReadonlyArray<number>> {
    await this.delivered(count, withinMs)
    return this.#ask<ReadonlyArray<number>>("/lateness")
  }

  /** How many deliveries have arrived. */
  async deliveries(): Promise<number> {
    return this.#ask<number>("/deliveries")
  }

  /** The timers that arrived at the recording URL, in the order of their arrival, repeats included. */
  async arrivals(): Promise<ReadonlyArray<readonly [timerId: string, receivedAtMs: number]>> {
    return this.#ask("/arrivals")
  }

  async #ask<Answer>(path: string): Promise<Answer> {
    return (await (await fetch(`${this.#server.url}${path}`)).json()) as Answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
