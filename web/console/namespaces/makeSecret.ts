const secretLengthBytes = 32

/** A new secret for webhooks, made in the browser: `whsec_` and 32 random bytes in base64. */
export const makeSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(secretLengthBytes))))}`
