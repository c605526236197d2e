/** A field name that is compared with keys in the bytes of a JSON text. */

const BACKSLASH = 0x5c

export class KeyName {
  readonly name: string
  readonly #quoted: Uint8Array

  constructor(name: string) {
    this.name = name
    this.#quoted = new TextEncoder().encode(`"${name}"`)
  }

  /** Whether the string literal from `start` to `end` (quotes included) spells the name. */
  is(bytes: Uint8Array, start: number, end: number): boolean {
    const quoted = this.#quoted
    const length = end - start
    if (length === quoted.length) {
      for (let i = 1; i < length; i++) if (bytes[start + i] !== quoted[i]) return false
      return true
    }
    // Each character may be an escape of six bytes.
    if (length < quoted.length || length > quoted.length * 6) return false
    const literal = bytes.subarray(start, end)
    return literal.includes(BACKSLASH) && JSON.parse(new TextDecoder().decode(literal)) === this.name
  }
}
