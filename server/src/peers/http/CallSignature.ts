// The signature of a call between nodes. It proves that the caller knows the cluster's secret, and the secret itself
// is not sent. The signature covers everything that decides what the call does: protocol version, method, path, the
// node that the call is for, the caller and the number of the call, the time, and the SHA-256 hash of the body. So
// nobody can change a call, send it to another node, or send it again later.
//
// The hash of the body is part of the header. So the receiver checks the signature before it reads the body, and reads
// nothing from strangers.
import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import { nextUrgentTurn } from "@punctual/api/nextTurn"

/** The time in milliseconds, the hash of the body, and the signature, both in hex. */
export const signatureHeader = "punctual-signature"

/** The signed parts of a call beside time and body, as its request shows them. */
export interface SignedHead {
  readonly version: string
  readonly method: string
  readonly path: string
  readonly to: string
  readonly call: string
}

export interface SignatureClaims {
  readonly signedAtMs: number
  readonly bodyHash: Buffer
}

/** Part of every signature. It changes if the form of the signed text changes. */
const purpose = "punctual: a call between nodes, 1"

export class CallSignature {
  readonly #key: Buffer

  /** The key is derived, so that a signature of another kind, made with the same secret, is never valid here. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", purpose, 32))
  }

  /** The value of the header. */
  headerOf(head: SignedHead, { signedAtMs, bodyHash }: SignatureClaims): string {
    const claims = `${signedAtMs} ${bodyHash.toString("hex")}`
    return `${claims} ${this.#signed(head, claims).toString("hex")}`
  }

  /** What the header claims. `undefined` if the signature is not one of this head and these claims. */
  claimsOf(head: SignedHead, header: string): SignatureClaims | undefined {
    const [, signedAtMs, bodyHash, signature] = headerForm.exec(header) ?? []
    if (signedAtMs === undefined || bodyHash === undefined || signature === undefined) return undefined
    const expected = this.#signed(head, `${signedAtMs} ${bodyHash}`)
    return timingSafeEqual(expected, Buffer.from(signature, "hex"))
      ? { signedAtMs: Number(signedAtMs), bodyHash: Buffer.from(bodyHash, "hex") }
      : undefined
  }

  /** No part contains a line break, so different calls have different texts. */
  #signed({ version, method, path, to, call }: SignedHead, claims: string): Buffer {
    const text = [purpose, version, method, path, to, call, claims].join("\n")
    return createHmac("sha256", this.#key).update(text).digest()
  }
}

const headerForm = /^(\d{1,15}) ([0-9a-f]{64}) ([0-9a-f]{64})$/

/** How much is hashed before other work has a turn. It takes less than a millisecond. */
const hashedAtOnce = 256 * 1024

/** The SHA-256 hash of the bytes. The thread is free for other work between the slices. */
export const hashInSlices = async (
  bytes: Uint8Array,
  pause: () => Promise<void> = nextUrgentTurn,
): Promise<Buffer> => {
  const hash = createHash("sha256")
  for (let at = 0; at < bytes.byteLength; at += hashedAtOnce) {
    if (at > 0) await pause()
    hash.update(bytes.subarray(at, at + hashedAtOnce))
  }
  return hash.digest()
}
