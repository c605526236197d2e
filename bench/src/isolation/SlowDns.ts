// A DNS server with slow names on loopback, and the settings that point the service to it.
import { ChildServer } from "../ChildServer.ts"

/** An address of its own, so that it shares no limit with others. */
const address = "127.66.0.53"
const slowMs = 30_000

export class SlowDns implements AsyncDisposable {
  readonly #server: ChildServer

  private constructor(server: ChildServer) {
    this.#server = server
  }

  static async start(): Promise<SlowDns> {
    const script = new URL("./dnsServer.ts", import.meta.url)
    return new SlowDns(await ChildServer.start(script, address, "0", String(slowMs)))
  }

  get settings(): Readonly<Record<string, string>> {
    return { TIMER_DNS_SERVERS: this.#server.url }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
