// The far side of the webhook benchmarks, in a process of its own: counts deliveries and knows how late each was.
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

  /** Answers at once, and notes how late the delivery is. */
  get timingUrl(): string {
    return `${this.#server.url}/timing`
  }

  /** Never answers. */
  get hangingUrl(): string {
    return `${this.#server.url}/hanging`
  }

  async forget(): Promise<void> {
    await fetch(`${this.#server.url}/forget`)
  }

  /** When so many deliveries have come. */
  async delivered(count: number, withinMs: number): Promise<void> {
    await eventually(
      `${count} deliveries`,
      async () => ((await this.#ask<number>("/deliveries")) >= count ? true : undefined),
      withinMs,
    )
  }

  /** How late each was that came to the timing URL, once so many have come. */
  async latenessMs(count: number, withinMs: number): Promise<ReadonlyArray<number>> {
    await this.delivered(count, withinMs)
    return this.#ask<ReadonlyArray<number>>("/lateness")
  }

  async #ask<Answer>(path: string): Promise<Answer> {
    return (await (await fetch(`${this.#server.url}${path}`)).json()) as Answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
