// Encrypts secrets at rest. Only a process with the service's own key can read them, and that key is never stored. A
// secret is bound to its namespace, so a row that is copied to another name cannot be opened there.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import type { SealedSecret } from "../../domain/NamespaceSettings.ts"

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16
/** The version of the format, in case it ever changes. */
const form = "v1."

export class SecretSeal {
  #keys: ReadonlyArray<Uint8Array>
  #changes = 0

  /** Keys of 32 bytes. The first one seals, and all of them open. Without a key nothing can be sealed. */
  constructor(keys: ReadonlyArray<Uint8Array>) {
    this.#keys = keys
  }

  /** Seals and opens with this key alone from now on. What the earlier key opened must be opened again. */
  use(key: Uint8Array): void {
    if (this.sealsWith(key)) return
    this.#keys = [key]
    this.#changes++
  }

  /** How often another key was used. */
  get changes(): number {
    return this.#changes
  }

  sealsWith(key: Uint8Array): boolean {
    const [present] = this.#keys
    return present !== undefined && Buffer.compare(present, key) === 0
  }

  seal(namespace: string, secret: Uint8Array): SealedSecret {
    const [key] = this.#keys
    if (key === undefined) throw new Error("there is no key to seal secrets with")
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(boundTo(namespace))
    const text = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
    return { sealed: `${form}${text.toString("base64url")}`, fingerprint: fingerprintOf(secret) }
  }

  /** `undefined` if none of the keys opens it. */
  open(namespace: string, { sealed }: SealedSecret): Uint8Array | undefined {
    if (!sealed.startsWith(form)) return undefined
    const bytes = Buffer.from(sealed.slice(form.length), "base64url")
    if (bytes.length <= nonceBytes + tagBytes) return undefined
    for (const key of this.#keys) {
      const opened = opening(key, namespace, bytes)
      if (opened !== undefined) return opened
    }
    return undefined
  }
}

/** The part of a secret that people may see. */
export const fingerprintOf = (secret: Uint8Array): string =>
  createHash("sha256").update(secret).digest("hex").slice(0, 16)

const opening = (key: Uint8Array, namespace: string, bytes: Buffer): Uint8Array | undefined => {
  try {
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes))
    decipher.setAAD(boundTo(namespace)).setAuthTag(bytes.subarray(-tagBytes))
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}

const boundTo = (namespace: string): Uint8Array => encoder.encode(`punctual webhook secret\0${namespace}`)

const encoder = new TextEncoder()
