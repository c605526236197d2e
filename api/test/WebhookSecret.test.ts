import { describe, expect, test } from "bun:test"
import { secretBytes, WebhookSecret } from "../src/WebhookSecret.ts"
import { refusalsOf } from "./refusals.ts"

const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 0xfb).toString("base64")}`

describe("a webhook secret", () => {
  test("is whsec_ and 24 to 64 bytes in base64", () => {
    for (const bytes of [24, 25, 26, 32, 63, 64]) {
      expect(refusalsOf(WebhookSecret, secretOf(bytes))).toEqual([])
      expect(secretBytes(secretOf(bytes))).toEqual(new Uint8Array(bytes).fill(0xfb))
    }
  })

  test("is refused in any other form, with how to make one", () => {
    const whole = secretOf(32)
    const refused = [
      "",
      "whsec_",
      whole.slice(6),
      secretOf(23),
      secretOf(65),
      whole.slice(0, -1),
      `${whole}=`,
      `${whole}\n`,
      ` ${whole}`,
      whole.replace("whsec_", "WHSEC_"),
      whole.replaceAll("+", "-"),
      "x".repeat(1_000_000),
    ]
    for (const text of refused) {
      expect(refusalsOf(WebhookSecret, text)).toEqual([expect.stringContaining("openssl rand -base64 32")])
      expect(secretBytes(text)).toBeUndefined()
    }
  })
})
