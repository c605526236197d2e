// The form of keys: what is accepted as a key before any hash is made.
import { expect, test } from "bun:test"
import { digestOfKey, idOfKey, isKeyId, makeKeyText } from "../src/KeyText.ts"

test("a key has its prefix, a public id of 10 digits, a secret of 43 digits and a check of 6", () => {
  const { id, text } = makeKeyText()
  expect(text).toMatch(/^pnct_[0-9A-Za-z]{10}_[0-9A-Za-z]{49}$/)
  expect(isKeyId(id)).toBe(true)
  expect(idOfKey(text)).toBe(id)
})

test("two keys share neither id nor secret, and another secret of a key has the same id", () => {
  const [first, second] = [makeKeyText(), makeKeyText()]
  expect(second.id).not.toBe(first.id)
  expect(second.text.slice(16)).not.toBe(first.text.slice(16))
  const rotated = makeKeyText(first.id)
  expect(idOfKey(rotated.text)).toBe(first.id)
  expect(digestOfKey(rotated.text)).not.toBe(digestOfKey(first.text))
})

test("a key with any one character changed is not a key", () => {
  const { text } = makeKeyText()
  for (let at = 0; at < text.length; at++) {
    const other = text.charAt(at) === "x" ? "y" : "x"
    expect([at, idOfKey(text.slice(0, at) + other + text.slice(at + 1))]).toEqual([at, undefined])
  }
})

test("texts of another length, with spaces, or without the prefix are not keys", () => {
  const { text } = makeKeyText()
  for (const wrong of ["", text.slice(1), `${text}0`, ` ${text}`, `${text}\n`, "pnct_", text.toUpperCase()]) {
    expect([wrong, idOfKey(wrong)]).toEqual([wrong, undefined])
  }
})
