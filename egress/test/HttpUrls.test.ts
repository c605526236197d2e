// URLs, parsed and kept for a while.
import { expect, test } from "bun:test"
import { HttpUrls } from "../src/HttpUrls.ts"

test("URLs that differ only in path or spelling have one host", () => {
  const urls = new HttpUrls()
  const hostOf = (url: string) => urls.of(url)?.host
  expect(hostOf("https://Example.test/a")).toBe("example.test:443")
  expect(hostOf("https://example.test:443/b?c")).toBe("example.test:443")
  expect(hostOf("http://example.test/")).toBe("example.test:80")
  expect(hostOf("http://[::1]:8080/")).toBe("[::1]:8080")
})

test("a URL that is not HTTP has no host, every time", () => {
  const urls = new HttpUrls()
  for (const url of ["file:///etc/passwd", "s3://bucket/key", "not a url", "file:///etc/passwd"]) {
    expect(urls.of(url)).toBeUndefined()
  }
})

test("a URL is parsed once while it is among the latest, and again after many others", () => {
  const urls = new HttpUrls()
  const first = urls.of("https://example.test/0")
  expect(urls.of("https://example.test/0")).toBe(first as NonNullable<typeof first>)
  for (let other = 1; other <= 1_000; other++) urls.of(`https://example.test/${other}`)
  const again = urls.of("https://example.test/0")
  expect(again).not.toBe(first as NonNullable<typeof first>)
  expect(again?.url.href).toBe("https://example.test/0")
})
