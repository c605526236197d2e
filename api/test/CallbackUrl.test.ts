import { describe, expect, test } from "bun:test"
import { makeCallbackUrl } from "../src/CallbackUrl.ts"
import { defaultLimits } from "../src/Limits.ts"
import { refusalsOf } from "./refusals.ts"

const CallbackUrl = makeCallbackUrl(defaultLimits)

describe("a callback URL", () => {
  test("may be any absolute http or https URL", () => {
    for (const url of [
      "http://localhost:3000",
      "https://example.com/hook?a=b&c=%20",
      "http://127.0.0.1/",
      "http://[::1]:8080/x",
      "HTTPS://EXAMPLE.COM/",
      "https://xn--bcher-kva.example/",
      "https://example.com/a@b",
    ]) {
      expect([url, refusalsOf(CallbackUrl, url)]).toEqual([url, []])
    }
  })

  test("is at most 2,048 characters long", () => {
    const prefix = "https://example.com/"
    expect(refusalsOf(CallbackUrl, prefix + "a".repeat(2048 - prefix.length))).toEqual([])
    expect(refusalsOf(CallbackUrl, prefix + "a".repeat(2049 - prefix.length))).toEqual([
      " must be at most 2048 characters long (the service's setting TIMER_LIMIT_URL_LENGTH)",
    ])
  })

  const refused = {
    "must be an absolute http or https URL": [
      "example.com",
      "/hook",
      "//example.com/",
      "ftp://example.com",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "http:example.com",
      "http://",
      "http:///example.com",
      "https://:80/",
      "http://[::1",
      "http://example.com\\@evil.example/",
      "http:\\\\example.com",
    ],
    "must not contain credentials": [
      "https://user:secret@example.com/",
      "https://user@example.com/",
      "https://@example.com/",
    ],
    "must have a port of at most 65535": ["http://example.com:99999/", "http://example.com:70000"],
    "write the host in its ASCII form, xn--bcher-kva.example": [
      "https://bücher.example/",
      "https://bücher.example:80/ü",
    ],
    "must not contain a fragment": ["https://example.com/#a", "https://example.com/#"],
    "must be visible ASCII": [
      "",
      " https://example.com/",
      "https://example.com/ ",
      "https://example.com/a b",
      "https://example.com/\r\nx: y",
      "https://exa\tmple.com/",
      "https://example.com/\0",
      "https://example.com/\u007f",
      "https://example.com/\ud800",
    ],
  }
  for (const [reason, urls] of Object.entries(refused)) {
    test(reason, () => {
      for (const url of urls)
        expect([url, refusalsOf(CallbackUrl, url).join()]).toEqual([url, expect.stringContaining(reason)])
    })
  }

  test("must be text", () => {
    expect(refusalsOf(CallbackUrl, 5)).toEqual([
      " must be an absolute http or https URL, such as https://example.com/hook",
    ])
  })
})
