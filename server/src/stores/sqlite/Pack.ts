// The format for data between threads: one JSON text of fields and one buffer for all bytes. In the sending thread,
// the runtime's clone of an array takes four times as long as its JSON, and a clone of nested objects twice as long
// again.

export type Field = string | number | null

export interface Pack {
  /** A JSON array of fields. */
  readonly fields: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export class PackWriter {
  readonly #fields: Array<unknown> = []
  /** The position of each shared text among the fields. */
  readonly #places = new Map<string, number>()
  readonly #chunks: Array<Uint8Array> = []
  #byteLength = 0

  field(value: Field | undefined): void {
    this.#fields.push(value ?? null)
  }

  /** A value that JSON keeps unchanged. As a text field it would be escaped, and parsed a second time. */
  json(value: object | undefined): void {
    this.#fields.push(value ?? null)
  }

  /** A text that occurs often in a pack, such as a spec. It is written once, and later replaced by its position. */
  shared(text: string): void {
    const place = this.#places.get(text)
    if (place === undefined) this.#places.set(text, this.#fields.length)
    this.#fields.push(place ?? text)
  }

  bytes(value: Uint8Array | undefined): void {
    this.#fields.push(value === undefined ? null : value.byteLength)
    if (value === undefined || value.byteLength === 0) return
    this.#chunks.push(value)
    this.#byteLength += value.byteLength
  }

  finish(): Pack {
    const bytes = new Uint8Array(this.#byteLength)
    let offset = 0
    for (const chunk of this.#chunks) {
      bytes.set(chunk, offset)
      offset += chunk.byteLength
    }
    return { fields: JSON.stringify(this.#fields), bytes }
  }
}

export class PackReader {
  readonly #fields: ReadonlyArray<unknown>
  readonly #bytes: Uint8Array
  readonly #readsViews: boolean
  #field = 0
  #byte = 0

  /**
   * By default bytes are copied, because a view would keep the whole pack alive as long as one of its timers waits.
   * `readsViews`: the reader keeps none of them, so a large pack needs its memory only once.
   */
  constructor(pack: Pack, { readsViews = false }: { readonly readsViews?: boolean } = {}) {
    this.#fields = JSON.parse(pack.fields)
    this.#bytes = pack.bytes
    this.#readsViews = readsViews
  }

  get isAtEnd(): boolean {
    return this.#field >= this.#fields.length
  }

  number(): number {
    return this.#next() as number
  }

  text(): string {
    return this.#next() as string
  }

  shared(): string {
    const field = this.#next()
    return (typeof field === "number" ? this.#fields[field] : field) as string
  }

  optionalNumber(): number | undefined {
    return (this.#next() as number | null) ?? undefined
  }

  optionalText(): string | undefined {
    return (this.#next() as string | null) ?? undefined
  }

  optional(): Field {
    return (this.#next() as Field | undefined) ?? null
  }

  /** The value that was written with `json`. This process has written it, so its shape is known. */
  json<Value extends object>(): Value | undefined {
    return (this.#next() as Value | null) ?? undefined
  }

  bytes(): Uint8Array | undefined {
    const byteLength = this.#next() as number | null
    if (byteLength === null) return undefined
    this.#byte += byteLength
    const start = this.#byte - byteLength
    return this.#readsViews ? this.#bytes.subarray(start, this.#byte) : this.#bytes.slice(start, this.#byte)
  }

  #next(): unknown {
    return this.#fields[this.#field++]
  }
}
