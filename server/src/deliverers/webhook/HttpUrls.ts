// Caches the parsed URLs of targets. Timers that are due together often have the same URL, and parsing it costs more
// than building the request.
import type { Target } from "../../domain/Timer.ts"

export interface HttpUrl {
  /** Do not change it: deliveries share it. */
  readonly url: URL
  /**
   * Host in lower case and port. Targets with the same host and port share limits, breaker and
   * refusal. The port is always there, so no webhook has the host of events (`bus`) or handlers (`handler`).
   */
  readonly host: string
}

const keptMost = 1_000

export class HttpUrls {
  readonly #kept = new Map<string, HttpUrl>()

  /** `undefined` if the URL is not HTTP: `fetch` would also read files and object stores. */
  of(target: Target): HttpUrl | undefined {
    if (target.type !== "webhook") return undefined
    const kept = this.#kept.get(target.url)
    if (kept !== undefined) return kept
    const parsed = parse(target.url)
    if (parsed === undefined) return undefined
    if (this.#kept.size === keptMost) this.#kept.clear()
    this.#kept.set(target.url, parsed)
    return parsed
  }
}

const parse = (text: string): HttpUrl | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined
  const port = url.port !== "" ? url.port : url.protocol === "https:" ? 443 : 80
  return { url, host: `${url.hostname}:${port}` }
}
