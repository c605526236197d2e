// The bytes of a webhook over plain HTTP. No header can end the head early or add another header.
import { describe, expect, test } from "bun:test"
import { HttpUrls } from "@punctual/egress/HttpUrls"
import { plainRequest } from "../../../src/deliverers/webhook/plainRequest.ts"

const urlOf = (text: string) => {
  const url = new HttpUrls().of(text)
  if (url === undefined) throw new Error("no URL")
  return url
}

const url = urlOf("http://example.com:8080/hook?a=1")
const textOf = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes)

describe("a plain request", () => {
  test("has the host, the length and the bytes of its body", () => {
    const body = new TextEncoder().encode('{"é":1}')
    expect(textOf(plainRequest({ headers: { "webhook-id": "7", "x-own": "a b" }, body }, "POST", url))).toBe(
      "POST /hook?a=1 HTTP/1.1\r\nhost: example.com:8080\r\nwebhook-id: 7\r\nx-own: a b\r\n" +
        'accept: */*\r\nconnection: keep-alive\r\ncontent-length: 8\r\n\r\n{"é":1}',
    )
  })

  test("says that it has no body, unless it is a GET", () => {
    const bare = { headers: {}, body: undefined }
    expect(textOf(plainRequest(bare, "POST", url))).toContain("content-length: 0\r\n\r\n")
    expect(textOf(plainRequest(bare, "GET", url))).not.toContain("content-length")
  })

  test("is not made if a header could split it", () => {
    const odd = ["a\r\nb: c", "a\n", "a\0", "é", "a\u{1f600}"]
    for (const value of odd) {
      expect(plainRequest({ headers: { "x-own": value }, body: undefined }, "POST", url)).toBeUndefined()
      expect(plainRequest({ headers: { "webhook-id": value }, body: undefined }, "POST", url)).toBeUndefined()
      expect(plainRequest({ headers: { [value]: "a" }, body: undefined }, "POST", url)).toBeUndefined()
    }
    for (const name of ["", "a b", "a:"]) {
      expect(plainRequest({ headers: { [name]: "a" }, body: undefined }, "POST", url)).toBeUndefined()
    }
  })
})
