/** A secret of Standard Webhooks 1.0: `whsec_` and 24 to 64 bytes in base64. */
import { Schema } from "effect"

const message =
  "must be whsec_ and 24 to 64 bytes in base64; one is made by: echo whsec_$(openssl rand -base64 32)"

const pattern = "^whsec_(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
const shape = new RegExp(pattern)

/** The bytes that sign; undefined if the text is no secret. */
export const secretBytes = (secret: string): Uint8Array | undefined => {
  if (secret.length > 100 || !shape.test(secret)) return undefined
  const bytes = Uint8Array.from(atob(secret.slice("whsec_".length)), (character) => character.charCodeAt(0))
  return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined
}

export const WebhookSecret = Schema.String.annotate({ message })
  .check(
    Schema.makeFilter((text: string) => (secretBytes(text) === undefined ? message : undefined), {
      toJsonSchema: () => ({ pattern }),
      description: "whsec_ and 24 to 64 bytes in base64, as Standard Webhooks 1.0 has it.",
    }),
  )
  .pipe(Schema.brand("WebhookSecret"))

export type WebhookSecret = typeof WebhookSecret.Type
