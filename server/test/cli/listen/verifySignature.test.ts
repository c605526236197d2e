// Signatures of Standard Webhooks 1.0, from the receiver's side.
import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { verifySignature } from "../../../src/cli/listen/verifySignature.ts"

const nowMs = 1_614_265_330_000
const body = Buffer.from('{"test": 2432232314}')
const key = (fill: number) => Buffer.alloc(32, fill)

const headersOf = (fill: number, { id = "msg_1", timestamp = nowMs / 1_000, signed = body } = {}) => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": `v1,${createHmac("sha256", key(fill)).update(`${id}.${timestamp}.`).update(signed).digest("base64")}`,
})

test("the example of the specification has a valid signature", () => {
  const secret = secretBytes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  }
  expect(verifySignature(headers, body, secret === undefined ? [] : [secret], nowMs)).toBe("ok")
})

test("one matching secret and one matching signature are enough", () => {
  const headers = headersOf(1)
  expect(verifySignature(headers, body, [key(2), key(1)], nowMs)).toBe("ok")
  const more = `v1a,xyz v1,AAAA ${headers["webhook-signature"]}`
  expect(verifySignature({ ...headers, "webhook-signature": more }, body, [key(1)], nowMs)).toBe("ok")
})

test("a signature is wrong for another secret, body, id or time", () => {
  const headers = headersOf(1)
  expect(verifySignature(headers, body, [key(2)], nowMs)).toBe("wrong")
  expect(verifySignature(headers, Buffer.from("{}"), [key(1)], nowMs)).toBe("wrong")
  expect(verifySignature({ ...headers, "webhook-id": "msg_2" }, body, [key(1)], nowMs)).toBe("wrong")
  const later = { ...headers, "webhook-timestamp": "1614265331" }
  expect(verifySignature(later, body, [key(1)], nowMs)).toBe("wrong")
  for (const signature of ["", "v1,", "v1", "v2,AAAA"]) {
    const other = { ...headers, "webhook-signature": signature }
    expect(verifySignature(other, body, [key(1)], nowMs)).toBe("wrong")
  }
})

test("a call without one of the headers has no signature", () => {
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
    expect(verifySignature({ ...headersOf(1), [name]: undefined }, body, [key(1)], nowMs)).toBe("missing")
  }
})

test("a signature is valid for five minutes before and after its time", () => {
  const at = (seconds: number) =>
    verifySignature(headersOf(1, { timestamp: nowMs / 1_000 + seconds }), body, [key(1)], nowMs)
  expect([at(-300), at(-301), at(300), at(301)]).toEqual(["ok", "too old", "ok", "too new"])
})
