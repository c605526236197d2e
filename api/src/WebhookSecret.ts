/** A secret of Standard Webhooks 1.0: `whsec_` followed by 24 to 64 bytes in base64. */
import { Schema } from "effect"

export const secretMessage =
  "must be whsec_ followed by 24 to 64 bytes in base64; to make one: echo whsec_$(openssl rand -base64 32)"

const pattern = "^whsec_(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
const shape = new RegExp(pattern)

/** The bytes of the secret; `undefined` if the text is not a secret. */
export const secretBytes = (secret: string): Uint8Array | undefined => {
  if (secret.length > 100 || !shape.test(secret)) return undefined
  const bytes = Uint8Array.from(atob(secret.slice("whsec_".length)), (character) => character.charCodeAt(0))
  return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined
}

export const WebhookSecret = Schema.String.annotate({ message: secretMessage })
  .check(
    Schema.makeFilter((text: string) => (secretBytes(text) === undefined ? secretMessage : undefined), {
      toJsonSchema: () => ({ pattern }),
      description: "whsec_ followed by 24 to 64 bytes in base64, as in Standard Webhooks 1.0.",
    }),
  )
  .pipe(Schema.brand("WebhookSecret"))

export type WebhookSecret = typeof WebhookSecret.Type
