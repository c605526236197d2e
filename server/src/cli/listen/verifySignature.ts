// Checks the signature of a webhook by Standard Webhooks 1.0. It is written from the receiver's side and shares no code
// with the sender, so that a mistake in the signing code shows up here.
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

/** Receivers of Standard Webhooks allow this difference between their clock and the timestamp. */
const toleranceMs = 5 * 60_000

export type SignatureFinding = "ok" | "wrong" | "missing" | "too old" | "too new"

/** `secrets` has the bytes of each secret; one of them must have signed. */
export const verifySignature = (
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  secrets: ReadonlyArray<Uint8Array>,
  nowMs: number,
): SignatureFinding => {
  const id = headers["webhook-id"]
  const timestamp = headers["webhook-timestamp"]
  const given = headers["webhook-signature"]
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof given !== "string") return "missing"
  const signatures = given.split(" ").flatMap((part) => (part.startsWith("v1,") ? [part.slice(3)] : []))
  if (!/^\d{1,15}$/.test(timestamp) || !isSigned(`${id}.${timestamp}.`, body, signatures, secrets)) {
    return "wrong"
  }
  // The age is checked only after the signature: without one, anyone could have written the time.
  const ageMs = nowMs - Number(timestamp) * 1_000
  if (ageMs > toleranceMs) return "too old"
  return ageMs < -toleranceMs ? "too new" : "ok"
}

const isSigned = (
  prefix: string,
  body: Uint8Array,
  signatures: ReadonlyArray<string>,
  secrets: ReadonlyArray<Uint8Array>,
): boolean =>
  secrets.some((secret) => {
    const expected = createHmac("sha256", secret).update(prefix).update(body).digest()
    return signatures.some((signature) => {
      const bytes = Buffer.from(signature, "base64")
      return bytes.byteLength === expected.byteLength && timingSafeEqual(bytes, expected)
    })
  })
