/**
 * The text of a key: `pnct_<id>_<secret><check>`. The id is public and finds the key. The secret has 256 random bits.
 * The check is a CRC-32 of everything before it. So the service recognises most wrong texts without a hash, and secret
 * scanners can find a key in source code.
 */
import { hash, randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"

export const keyPrefix = "pnct_"

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const idLength = 10
/** 62^43 is the first power above 2^256. */
const secretLength = 43
const checkLength = 6
const form = new RegExp(`^${keyPrefix}([0-9A-Za-z]{${idLength}})_[0-9A-Za-z]{${secretLength + checkLength}}$`)
const idForm = new RegExp(`^[0-9A-Za-z]{${idLength}}$`)

export interface MadeKey {
  readonly id: string
  /** The whole text. It is shown once and never stored. */
  readonly text: string
}

/** Makes a key. With an id it makes another secret for that key. */
export const makeKeyText = (id: string = randomDigits(idLength)): MadeKey => {
  const body = `${keyPrefix}${id}_${base62(randomBytes(32), secretLength)}`
  return { id, text: body + checkOf(body) }
}

/** The id in the text of a key; `undefined` if the text has another form or a wrong check. */
export const idOfKey = (text: string): string | undefined => {
  const id = form.exec(text)?.[1]
  return id !== undefined && checkOf(text.slice(0, -checkLength)) === text.slice(-checkLength)
    ? id
    : undefined
}

export const isKeyId = (text: string): boolean => idForm.test(text)

/** What the store keeps of a key. The secret has so many random bits that a slow hash would add nothing. */
export const digestOfKey = (text: string): Buffer => hash("sha256", text, "buffer")

const checkOf = (body: string): string => {
  let rest = crc32(body)
  let check = ""
  while (check.length < checkLength) {
    check = digits.charAt(rest % 62) + check
    rest = Math.floor(rest / 62)
  }
  return check
}

const base62 = (bytes: Uint8Array, length: number): string => {
  let rest = BigInt(`0x${Buffer.from(bytes).toString("hex")}`)
  let text = ""
  while (text.length < length) {
    text = digits.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

/** Each digit has the same probability: bytes that would favour the first digits are dropped. */
const randomDigits = (length: number): string => {
  let text = ""
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += digits.charAt(byte % 62)
    }
  }
  return text
}
