// The URLs of targets, parsed. Timers that come due together often go to the same one, and to parse it costs a delivery
// more than to build its request: so those that were seen lately are kept.
import type { Target } from "../../domain/Timer.ts"

export interface HttpUrl {
  /** Not to be changed. */
  readonly url: URL
  /** Lower-case host and port: targets that differ only in path or spelling share bounds and breaker. */
  readonly host: string
}

const keptMost = 1_000

export class HttpUrls {
  readonly #kept = new Map<string, HttpUrl>()

  /** Nothing unless it is HTTP: `fetch` would also read files and object stores. */
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
