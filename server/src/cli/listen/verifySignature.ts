// Whether a webhook is signed as Standard Webhooks 1.0 has it: what every receiver has to find out, written from the
// receiver's side, and sharing nothing with the code that signs.
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

/** What receivers of Standard Webhooks allow between the sender's clock and theirs, and for the way. */
const toleranceMs = 5 * 60_000

export type SignatureFinding = "ok" | "wrong" | "missing" | "too old" | "too new"

/** `secrets` are the bytes of each; one of them has to have signed. */
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
  // Told only of what is signed: else anyone could have written the time.
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
