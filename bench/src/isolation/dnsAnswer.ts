// The answers of the bench's DNS server, for its own names: `good-…test` is this machine, `slow-…test` has no address,
// other names do not exist. Only as much of the protocol as a resolver needs.

const typeA = 1
const headBytes = 12
const ttlSeconds = 1
const noSuchName = 3

export interface DnsAnswer {
  readonly bytes: Uint8Array
  readonly isSlow: boolean
}

/** Undefined if the message is not a question with one name. */
export const dnsAnswer = (message: Uint8Array): DnsAnswer | undefined => {
  const bytes = Buffer.from(message)
  if (bytes.length < headBytes || bytes.readUInt16BE(4) !== 1) return undefined
  const labels: Array<string> = []
  let at = headBytes
  for (;;) {
    const length = bytes[at]
    if (length === undefined || length > 63) return undefined
    at += 1 + length
    if (length === 0) break
    labels.push(bytes.toString("latin1", at - length, at).toLowerCase())
  }
  if (bytes.length < at + 4) return undefined
  const isOurs = labels.length === 2 && labels[1] === "test"
  const isGood = isOurs && labels[0]?.startsWith("good-") === true
  const isSlow = isOurs && labels[0]?.startsWith("slow-") === true
  const hasAddress = isGood && bytes.readUInt16BE(at) === typeA
  const head = Buffer.alloc(headBytes)
  bytes.copy(head, 0, 0, 2)
  // An answer with authority, recursion available.
  head.writeUInt16BE(0x8580 | (isGood || isSlow ? 0 : noSuchName), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(hasAddress ? 1 : 0, 6)
  return {
    bytes: Buffer.concat([head, bytes.subarray(headBytes, at + 4), ...(hasAddress ? [loopback] : [])]),
    isSlow,
  }
}

/** A record for the name of the question: type A, class IN, 127.0.0.1. */
const loopback = Buffer.from([0xc0, headBytes, 0, typeA, 0, 1, 0, 0, 0, ttlSeconds, 0, 4, 127, 0, 0, 1])
