// Seals requests at rest with AES-256-GCM, because headers and bodies may contain secrets. A sealed request is bound to
// its call, so a row that is copied to another call cannot be opened there.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { Context } from "effect"
import type { CallKey, RequestSpec } from "../domain/ServiceCall.ts"

const algorithm = "aes-256-gcm"
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
/** The first byte says which form follows, in case it ever changes. */
const form = 1

export class RequestSeal extends Context.Service<
  RequestSeal,
  {
    seal(key: CallKey, request: RequestSpec): Uint8Array
    /** `undefined` if the key does not open it. */
    open(key: CallKey, sealed: Uint8Array): RequestSpec | undefined
  }
>()("punctual/agent/RequestSeal") {}

/** Throws if the key does not have 32 bytes. */
export const makeRequestSeal = (secret: Uint8Array): RequestSeal["Service"] => {
  if (secret.length !== keyBytes) throw new Error(`the key that seals requests must have ${keyBytes} bytes`)
  return {
    seal: (key, request) => {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, secret, nonce).setAAD(boundTo(key))
      const text = Buffer.from(JSON.stringify(request))
      return Buffer.concat([Buffer.of(form), nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
    },
    open: (key, sealed) => {
      const bytes = Buffer.from(sealed)
      if (bytes[0] !== form || bytes.length <= 1 + nonceBytes + tagBytes) return undefined
      try {
        const decipher = createDecipheriv(algorithm, secret, bytes.subarray(1, 1 + nonceBytes))
        decipher.setAAD(boundTo(key)).setAuthTag(bytes.subarray(-tagBytes))
        const text = Buffer.concat([
          decipher.update(bytes.subarray(1 + nonceBytes, -tagBytes)),
          decipher.final(),
        ])
        return JSON.parse(text.toString())
      } catch {
        return undefined
      }
    },
  }
}

const boundTo = ({ tenantId, serviceCallId }: CallKey): Uint8Array =>
  Buffer.from(`punctual service call\0${tenantId}\0${serviceCallId}`)
