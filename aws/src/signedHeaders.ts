// Signs requests to AWS (Signature Version 4). The signature proves that the caller has the secret key, without sending
// it, and covers the body. A signing key is valid for one day, region and service, so it is computed once a day.
import { createHash, createHmac } from "node:crypto"
import type { AwsCredentials } from "./AwsCredentials.ts"

export interface SignedRequest {
  readonly method: "GET" | "POST"
  readonly host: string
  readonly path: string
  /** Lower-case names. Every header that is given is signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface SigningScope {
  readonly region: string
  readonly service: string
}

/** The given headers with those that carry the signature. */
export const signedHeaders = (
  { method, host, path, headers, body }: SignedRequest,
  { region, service }: SigningScope,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  nowMs: number,
): Record<string, string> => {
  const instant = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, "")
  const day = instant.slice(0, 8)
  const signed: Record<string, string> = { ...headers, host, "x-amz-date": instant }
  if (sessionToken !== undefined) signed["x-amz-security-token"] = sessionToken
  const names = Object.keys(signed).sort()
  const lines = names.map((name) => `${name}:${signed[name]?.trim()}\n`).join("")
  const list = names.join(";")
  const canonical = `${method}\n${path}\n\n${lines}\n${list}\n${sha256(body)}`
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = `AWS4-HMAC-SHA256\n${instant}\n${scope}\n${sha256(canonical)}`
  const signature = hmac(signingKey(secretAccessKey, day, region, service), text).toString("hex")
  // The runtime sets the host itself.
  const { host: _, ...sent } = signed
  sent["authorization"] =
    `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${list}, Signature=${signature}`
  return sent
}

let lastKey: { readonly id: string; readonly key: Buffer } | undefined

const signingKey = (secret: string, day: string, region: string, service: string): Buffer => {
  const id = `${secret} ${day} ${region} ${service}`
  if (lastKey?.id !== id) {
    const key = [day, region, service, "aws4_request"].reduce<string | Buffer>(
      (before, part) => hmac(before, part),
      `AWS4${secret}`,
    )
    lastKey = { id, key: Buffer.from(key) }
  }
  return lastKey.key
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
