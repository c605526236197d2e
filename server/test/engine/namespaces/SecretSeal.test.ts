import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { fingerprintOf, SecretSeal } from "../../../src/engine/namespaces/SecretSeal.ts"

const keyOf = (byte: number) => new Uint8Array(32).fill(byte)
const secret = new TextEncoder().encode("a secret of webhooks, 24 bytes or more")

describe("a sealed secret", () => {
  const seal = new SecretSeal([keyOf(1)])

  test("is opened by its own key in its own namespace, and does not contain the secret as text", () => {
    const sealed = seal.seal("shop", secret)
    expect(seal.open("shop", sealed)).toEqual(Buffer.from(secret))
    expect(sealed.sealed).not.toContain(Buffer.from(secret).toString("base64url").slice(0, 8))
    expect(sealed.fingerprint).toBe(fingerprintOf(secret))
    expect(sealed.fingerprint).toMatch(/^[0-9a-f]{16}$/)
    expect(seal.open("other", sealed)).toBeUndefined()
    expect(new SecretSeal([keyOf(2)]).open("shop", sealed)).toBeUndefined()
    expect(new SecretSeal([]).open("shop", sealed)).toBeUndefined()
  })

  test("is never the same twice", () => {
    expect(seal.seal("shop", secret).sealed).not.toBe(seal.seal("shop", secret).sealed)
  })

  test("is not opened if one character has changed", () => {
    const { sealed, fingerprint } = seal.seal("shop", secret)
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), (at) => {
        // Some bits of the last character have no meaning.
        fc.pre(at < sealed.length - 1)
        const touched = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`
        expect(seal.open("shop", { sealed: touched, fingerprint })).toBeUndefined()
      }),
    )
    for (const odd of ["", "v1.", "v1.AAAA", "v2.AAAA", sealed.slice(0, 20)]) {
      expect(seal.open("shop", { sealed: odd, fingerprint })).toBeUndefined()
    }
  })

  test("of an old key can be opened during a rotation, while the new key seals", () => {
    const before = seal.seal("shop", secret)
    const during = new SecretSeal([keyOf(2), keyOf(1)])
    expect(during.open("shop", before)).toEqual(Buffer.from(secret))
    const after = during.seal("shop", secret)
    expect(new SecretSeal([keyOf(2)]).open("shop", after)).toEqual(Buffer.from(secret))
    expect(seal.open("shop", after)).toBeUndefined()
  })

  test("cannot be made without a key", () => {
    expect(() => new SecretSeal([]).seal("shop", secret)).toThrow()
  })
})
