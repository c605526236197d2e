/**
 * Signatures of webhooks (Standard Webhooks 1.0), over the bytes of the body. Checking and parsing are separate: a body
 * need not be text, and text that was parsed and written again has another signature.
 */
import { webCrypto } from "../core/newTimerId.ts"

/** What a check found. `tooOld` and `tooNew`: the signature is right, but its time is not. */
export type Finding = "ok" | "wrong" | "missing" | "tooOld" | "tooNew"

/** What `verifyWebhook` checks. */
export interface WebhookToVerify {
  readonly headers: Headers
  /** The body exactly as it arrived. */
  readonly body: Uint8Array
  /** Secrets such as `whsec_…`. One of them must have signed. During a change give both. */
  readonly secrets: ReadonlyArray<string>
  /** The largest difference between the clocks; five minutes when left out. */
  readonly toleranceMs?: number | undefined
  /** The time to compare with; now when left out. */
  readonly nowMs?: number | undefined
}

/** Five minutes, as Standard Webhooks recommends. */
const usualToleranceMs = 300_000

const algorithm = { name: "HMAC", hash: "SHA-256" }

/** Checks the signature of a webhook. It does not look into the body. */
export const verifyWebhook = async ({
  headers,
  body,
  secrets,
  toleranceMs = usualToleranceMs,
  nowMs = Date.now(),
}: WebhookToVerify): Promise<Finding> => {
  const id = headers.get("webhook-id")
  const timestamp = headers.get("webhook-timestamp")
  const given = headers.get("webhook-signature")
  if (id === null || timestamp === null || given === null) return "missing"
  if (!/^\d{1,15}$/.test(timestamp)) return "wrong"
  const signatures = given
    .split(" ")
    .slice(0, 20)
    .flatMap((part) => (part.startsWith("v1,") ? [bytesOfBase64(part.slice(3))] : []))
  const content = signedContent(id, timestamp, body)
  if (!(await isSignedByOne(content, signatures, secrets))) return "wrong"
  // The age counts only with a right signature: without one, anyone could have written the time.
  const ageMs = nowMs - Number(timestamp) * 1000
  if (ageMs > toleranceMs) return "tooOld"
  return ageMs < -toleranceMs ? "tooNew" : "ok"
}

/** The value of `webhook-signature` for a body, as the service writes it. For tests. */
export const signWebhook = async (
  { id, timestampSeconds }: { readonly id: string; readonly timestampSeconds: number },
  body: Uint8Array,
  secret: string,
): Promise<string> => {
  const { subtle } = await webCrypto()
  const key = await subtle.importKey("raw", secretBytes(secret), algorithm, false, ["sign"])
  const signature = await subtle.sign("HMAC", key, signedContent(id, String(timestampSeconds), body))
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`
}

/** The bytes of a secret. Throws a TypeError if the text is not a secret; the message does not contain it. */
export const secretBytes = (secret: string): Uint8Array<ArrayBuffer> => {
  const bytes = secret.startsWith("whsec_") ? bytesOfBase64(secret.slice("whsec_".length)) : undefined
  if (bytes === undefined || bytes.length < 24 || bytes.length > 64) {
    throw new TypeError("a webhook secret must be whsec_ followed by 24 to 64 bytes in base64")
  }
  return bytes
}

const isSignedByOne = async (
  content: Uint8Array<ArrayBuffer>,
  signatures: ReadonlyArray<Uint8Array<ArrayBuffer> | undefined>,
  secrets: ReadonlyArray<string>,
): Promise<boolean> => {
  const { subtle } = await webCrypto()
  for (const secret of secrets) {
    const key = await subtle.importKey("raw", secretBytes(secret), algorithm, false, ["verify"])
    for (const signature of signatures) {
      // WebCrypto compares in constant time.
      if (signature !== undefined && (await subtle.verify("HMAC", key, signature, content))) return true
    }
  }
  return false
}

const signedContent = (id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const content = new Uint8Array(head.length + body.length)
  content.set(head)
  content.set(body, head.length)
  return content
}

const bytesOfBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
