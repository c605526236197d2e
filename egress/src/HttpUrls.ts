// Caches parsed URLs. Calls that are due together often have the same URL, and parsing it costs more than building the
// request.

export interface HttpUrl {
  /** Do not change it: calls share it. */
  readonly url: URL
  /** Host in lower case and port. The port is always there. URLs with the same host and port share limits. */
  readonly host: string
  readonly port: number
  /** Path and query, as a request names them. */
  readonly target: string
}

const keptMost = 1_000

export class HttpUrls {
  readonly #kept = new Map<string, HttpUrl>()

  /** `undefined` if the URL is not HTTP: `fetch` would also read files and object stores. */
  of(text: string): HttpUrl | undefined {
    const kept = this.#kept.get(text)
    if (kept !== undefined) return kept
    const parsed = parse(text)
    if (parsed === undefined) return undefined
    if (this.#kept.size === keptMost) this.#kept.clear()
    this.#kept.set(text, parsed)
    return parsed
  }
}

const parse = (text: string): HttpUrl | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined
  const port = url.port !== "" ? Number(url.port) : url.protocol === "https:" ? 443 : 80
  return { url, host: `${url.hostname}:${port}`, port, target: url.pathname + url.search }
}
