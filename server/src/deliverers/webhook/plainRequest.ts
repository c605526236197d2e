// The bytes of a webhook over plain HTTP/1.1.
import type { HttpUrl } from "@punctual/egress/HttpUrls"
import type { WebhookRequest } from "./WebhookRequest.ts"

/**
 * `undefined` if a header has a form that the contract refuses today. Such a header could come from an old store, and could
 * split the request.
 */
export const plainRequest = (
  { headers, body }: WebhookRequest,
  method: string,
  { url, target }: HttpUrl,
): Uint8Array | undefined => {
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${url.host}\r\n`
  // The values are checked together, because one check of a long text is much cheaper than many of short ones.
  let values = ""
  for (const name in headers) {
    const value = headers[name] ?? ""
    if (!usualNames.has(name) && !nameForm.test(name)) return undefined
    values += value
    head += `${name}: ${value}\r\n`
  }
  if (!valueForm.test(values)) return undefined
  head += "accept: */*\r\nconnection: keep-alive\r\n"
  if (body !== undefined) head += `content-length: ${body.length}\r\n`
  else if (method !== "GET") head += "content-length: 0\r\n"
  head += "\r\n"
  const bytes = Buffer.allocUnsafe(head.length + (body?.length ?? 0))
  bytes.write(head, "latin1")
  if (body !== undefined) bytes.set(body, head.length)
  return bytes
}

/** The names of the service's own headers. */
const usualNames: ReadonlySet<string> = new Set([
  "user-agent",
  "content-type",
  "accept-encoding",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "traceparent",
  "punctual-namespace",
  "punctual-timer-id",
  "punctual-execute-at",
  "punctual-attempt",
  "punctual-epoch",
  "punctual-tags",
])

const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const valueForm = /^[\t\x20-\x7e]*$/
