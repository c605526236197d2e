// A path with parameters, such as /tenants/:tenantId/events. A parameter is one segment, percent-encoded.

export class PathPattern {
  readonly path: string
  readonly #segments: ReadonlyArray<string>

  constructor(path: string) {
    this.path = path
    this.#segments = path.split("/")
  }

  /** The decoded parameters; `undefined` if the path is another one, or if a segment cannot be decoded. */
  paramsOf(path: string): Readonly<Record<string, string>> | undefined {
    const segments = path.split("/", this.#segments.length + 1)
    if (segments.length !== this.#segments.length) return undefined
    const params: Record<string, string> = {}
    for (const [index, expected] of this.#segments.entries()) {
      const segment = segments[index] ?? ""
      if (expected.startsWith(":")) {
        const value = decoded(segment)
        if (value === undefined || value === "") return undefined
        params[expected.slice(1)] = value
      } else if (segment !== expected) return undefined
    }
    return params
  }
}

const decoded = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
