// The bytes that the members of a consumer group exchange through the broker, in the format of Kafka's own clients, so
// that the broker's tools can show who reads which partition. A member tells which topics it reads and which partitions
// it has. The leader of the group tells each member which partitions it gets.

export interface MemberSubscription {
  readonly topics: ReadonlyArray<string>
  /** The partitions that the member has now. */
  readonly owned: ReadonlyArray<number>
  /** The generation of the group in which it got them. */
  readonly generationId: number
}

const version = 2

/** All topics of a member have the same partitions. */
export const encodeSubscription = ({ topics, owned, generationId }: MemberSubscription): Buffer =>
  Buffer.concat([
    int16(version),
    array(topics.map(text)),
    int32(0),
    array(topics.map((topic) => Buffer.concat([text(topic), array(owned.map(int32))]))),
    int32(generationId),
  ])

/** Bytes that this version does not understand count as a member without partitions. */
export const decodeSubscription = (bytes: Buffer): MemberSubscription => {
  const nothing = { topics: [], owned: [], generationId: -1 }
  try {
    const reader = new BytesReader(bytes)
    if (reader.int16() < version) return nothing
    const topics = reader.array(() => reader.text())
    reader.skip(Math.max(0, reader.int32()))
    const owned = reader.array(() => {
      reader.text()
      return reader.array(() => reader.int32())
    })
    return { topics, owned: owned[0] ?? [], generationId: reader.int32() }
  } catch {
    return nothing
  }
}

export const encodeAssignment = (topics: ReadonlyArray<string>, partitions: ReadonlyArray<number>): Buffer =>
  Buffer.concat([
    int16(version),
    array(topics.map((topic) => Buffer.concat([text(topic), array(partitions.map(int32))]))),
    int32(0),
  ])

/** The partitions of the first topic. */
export const decodeAssignment = (bytes: Buffer): ReadonlyArray<number> => {
  if (bytes.length === 0) return []
  const reader = new BytesReader(bytes)
  reader.int16()
  const assigned = reader.array(() => {
    reader.text()
    return reader.array(() => reader.int32())
  })
  return assigned[0] ?? []
}

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const text = (value: string): Buffer => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)])

const array = (items: ReadonlyArray<Buffer>): Buffer => Buffer.concat([int32(items.length), ...items])

class BytesReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  int16(): number {
    this.#at += 2
    return this.#bytes.readInt16BE(this.#at - 2)
  }

  int32(): number {
    this.#at += 4
    return this.#bytes.readInt32BE(this.#at - 4)
  }

  text(): string {
    const length = Math.max(0, this.int16())
    this.#at += length
    return this.#bytes.toString("utf8", this.#at - length, this.#at)
  }

  skip(count: number): void {
    this.#at += count
  }

  /** Each item has at least two bytes, so the length of the bytes bounds the count. */
  array<Item>(read: () => Item): Array<Item> {
    const count = this.int32()
    if (count * 2 > this.#bytes.length) throw new Error("the array is longer than its bytes")
    return Array.from({ length: Math.max(0, count) }, read)
  }
}
