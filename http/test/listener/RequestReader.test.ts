// The reader of requests: what it accepts, what it refuses, and that the parts in which bytes arrive change nothing.
import { describe, expect, test } from "bun:test"
import { runsOf } from "@punctual/server/testkit/effort"
import fc from "fast-check"
import { BadRequest } from "../../src/listener/BadRequest.ts"
import { chunkExtrasBytesMax } from "../../src/listener/ChunkedBody.ts"
import { headerBytesMax, headersMax, targetBytesMax } from "../../src/listener/RequestHead.ts"
import { chunkedPartBytes, RequestReader } from "../../src/listener/RequestReader.ts"
import { readRequests } from "./readRequests.ts"

const get = "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n"
const post = (headers: string, body: string) => `POST /p HTTP/1.1\r\nHost: h\r\n${headers}\r\n${body}`
const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body)

const whole = (line: string, body = "", keepsAlive = true) => ({
  line,
  host: "h",
  keepsAlive,
  body,
  isComplete: true,
})

describe("accepted", () => {
  const accepted: Record<string, readonly [string, ReadonlyArray<object>]> = {
    "no body": [get, [whole("GET /a?b=c")]],
    "a body of a declared length": [post("Content-Length: 5\r\n", "hello"), [whole("POST /p", "hello")]],
    "an empty body": [post("Content-Length: 0\r\n", ""), [whole("POST /p")]],
    "a body in chunks": [
      chunked("5\r\nhello\r\n1\r\n,\r\nA\r\n0123456789\r\n0\r\n\r\n"),
      [whole("POST /p", "hello,0123456789")],
    ],
    "chunk extensions and trailers": [
      chunked('5;a=b\r\nhello\r\n5 ; c="d"\r\nworld\r\n0\r\nX-Sum: 1\r\n\r\n'),
      [whole("POST /p", "helloworld")],
    ],
    "chunks that contain line ends": [chunked("4\r\n\r\n\r\n\r\n0\r\n\r\n"), [whole("POST /p", "\r\n\r\n")]],
    "several requests, with bodies of all kinds": [
      get + post("Content-Length: 2\r\n", "{}") + chunked("2\r\n{}\r\n0\r\n\r\n") + get,
      [whole("GET /a?b=c"), whole("POST /p", "{}"), whole("POST /p", "{}"), whole("GET /a?b=c")],
    ],
    "an empty line before a request": [`\r\n${get}`, [whole("GET /a?b=c")]],
    "a whole URL as its target": [
      "GET http://other:80/a?b HTTP/1.1\r\nHost: h\r\n\r\nGET http://o?b HTTP/1.1\r\nHost: h\r\n\r\n",
      [whole("GET /a?b"), whole("GET /?b")],
    ],
    "OPTIONS for the whole service": ["OPTIONS * HTTP/1.1\r\nhost: h\r\n\r\n", [whole("OPTIONS *")]],
    "blanks around a value": ["GET / HTTP/1.1\r\nHost: \t h \t\r\n\r\n", [whole("GET /")]],
    "a request to close": [
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Close\r\n\r\n",
      [whole("GET /", "", false)],
    ],
    "HTTP/1.0, which closes, and needs no Host": [
      "GET / HTTP/1.0\r\n\r\n",
      [{ ...whole("GET /", "", false), host: null }],
    ],
    "identity as Content-Encoding": [
      post("Content-Encoding: identity\r\nContent-Length: 1\r\n", "x"),
      [whole("POST /p", "x")],
    ],
    "an upgrade that is ignored": [
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
      [whole("GET /")],
    ],
  }
  for (const [name, [text, requests]] of Object.entries(accepted)) {
    test(`${name}, wherever the bytes are cut`, () => {
      expect(readRequests(text)).toEqual({ requests, refusal: undefined } as never)
      for (let cut = 1; cut < text.length; cut++) {
        expect([cut, readRequests(text, [cut])]).toEqual([cut, { requests, refusal: undefined }] as never)
      }
      const everywhere = Array.from({ length: text.length - 1 }, (_, index) => index + 1)
      expect(readRequests(text, everywhere)).toEqual({ requests, refusal: undefined } as never)
    })
  }

  test("any requests in any parts", () => {
    const body = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "0", ";", "\u00ff"), maxLength: 40 })
    const inChunks = fc.array(
      body.filter((text) => text !== ""),
      { maxLength: 4 },
    )
    const request = fc.oneof(
      fc.constant({ text: get, read: whole("GET /a?b=c") }),
      body.map((text) => ({
        text: post(`Content-Length: ${text.length}\r\n`, text),
        read: whole("POST /p", text),
      })),
      inChunks.map((chunks) => ({
        text: chunked(
          `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")}0\r\n\r\n`,
        ),
        read: whole("POST /p", chunks.join("")),
      })),
    )
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (all, places) => {
        const text = all.map((one) => one.text).join("")
        const cuts = [...new Set(places.map((place) => place % text.length))].sort((a, b) => a - b)
        expect(readRequests(text, cuts)).toEqual({ requests: all.map((one) => one.read), refusal: undefined })
      }),
      { numRuns: runsOf(400) },
    )
  })

  test("a target and headers of exactly their limits", () => {
    const target = `/${"a".repeat(targetBytesMax - 1)}`
    const filler = `X: ${"y".repeat(headerBytesMax - "Host: h\r\nX: ".length)}`
    expect(readRequests(`GET ${target} HTTP/1.1\r\nHost: h\r\n${filler}\r\n\r\n`)).toMatchObject({
      requests: [{ line: `GET ${target}`, isComplete: true }],
      refusal: undefined,
    })
    const many = Array.from({ length: headersMax - 1 }, (_, index) => `x${index}: y\r\n`).join("")
    expect(readRequests(`GET / HTTP/1.1\r\nHost: h\r\n${many}\r\n`).refusal).toBeUndefined()
  })
})

describe("refused", () => {
  const line = (text: string) => `${text}\r\nHost: h\r\n\r\n`
  const header = (text: string) => `GET / HTTP/1.1\r\nHost: h\r\n${text}\r\n\r\n`
  const malformed: Record<string, string> = {
    "no Host": "GET / HTTP/1.1\r\n\r\n",
    "two Hosts": header("Host: h"),
    "two Hosts that differ": header("host: other"),
    "a Host that is no host": "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "a Host with a path": "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "no version": line("GET /"),
    "no target": line("GET  HTTP/1.1"),
    "two spaces": line("GET  / HTTP/1.1"),
    "a tab instead of a space": line("GET\t/ HTTP/1.1"),
    "a target without a slash": line("GET a HTTP/1.1"),
    "a target with a space": line("GET /a b HTTP/1.1"),
    "a target with a fragment": line("GET /a#b HTTP/1.1"),
    "a target with a byte that is no ASCII": line("GET /\u00e9 HTTP/1.1"),
    "a method with a special character": line("GE@T / HTTP/1.1"),
    "a space before the method": line(" GET / HTTP/1.1"),
    "a version in lower case": line("GET / http/1.1"),
    "a version of three digits": line("GET / HTTP/1.10"),
    "TLS instead of HTTP": "\u0016\u0003\u0001\u0002\u0000\u0001",
    "two empty lines before a request": `\r\n\r\n${get}`,
    "lines that end with a line feed": "GET / HTTP/1.1\nHost: h\n\n",
    "one line that ends with a line feed": "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n",
    "a carriage return alone": header("X: a\rY: b"),
    "a NUL in a value": header("X: a\0b"),
    "a control character in a value": header("X: a\u0001b"),
    "a name with a space before the colon": header("X : y"),
    "a name with a space before the colon, for the length": post("Content-Length : 5\r\n", "hello"),
    "an empty name": header(": y"),
    "no colon": header("X"),
    "a header that continues on the next line": header("X: a\r\n b"),
    "a first header that begins with a space": "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
    "a name with a special character": header("X(: y"),
    "a name that is no ASCII": header("Content-Length\u00a0: 5"),
    "a length and chunks": post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    "chunks and a length": post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
    "two lengths that differ": post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
    "two equal lengths": post("Content-Length: 5\r\ncontent-length: 5\r\n", "hello"),
    "a list of lengths": post("Content-Length: 5, 5\r\n", "hello"),
    "a length with a sign": post("Content-Length: +5\r\n", "hello"),
    "a negative length": post("Content-Length: -5\r\n", "hello"),
    "a length in hexadecimal": post("Content-Length: 0x5\r\n", "hello"),
    "a length with a fraction": post("Content-Length: 5.0\r\n", "hello"),
    "an empty length": post("Content-Length:\r\n", "hello"),
    "a huge length": post(`Content-Length: ${"9".repeat(16)}\r\n`, "hello"),
    "two Transfer-Encodings": post(
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "0\r\n\r\n",
    ),
    "chunks in HTTP/1.0": "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk without a size": chunked("\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with a prefix": chunked("0x5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with a sign": chunked("+5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with a space after it": chunked("5 \r\nhello\r\n0\r\n\r\n"),
    "a chunk size with a space before it": chunked(" 5\r\nhello\r\n0\r\n\r\n"),
    "a huge chunk size": chunked("100000000\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with zeros before it": chunked("0000000005\r\nhello\r\n0\r\n\r\n"),
    "a chunk that is longer than its size": chunked("4\r\nhello\r\n0\r\n\r\n"),
    "a chunk that is shorter than its size": chunked("6\r\nhello\r\n0\r\n\r\n"),
    "a chunk line that ends with a line feed": chunked("5\nhello\r\n0\r\n\r\n"),
    "a chunk that ends with a line feed": chunked("5\r\nhello\n0\r\n\r\n"),
    "a carriage return alone in an extension": chunked("5;a\rb\r\nhello\r\n0\r\n\r\n"),
    "a control character in an extension": chunked("5;a\u0001\r\nhello\r\n0\r\n\r\n"),
    "extensions of too many bytes": chunked(
      `${`1;${"a".repeat(4_000)}\r\nx\r\n`.repeat(Math.ceil(chunkExtrasBytesMax / 4_000) + 1)}0\r\n\r\n`,
    ),
    "an extension without an end": chunked(`1;${"a".repeat(20_000)}`),
    "trailers of too many bytes": chunked(`0\r\n${`A: ${"b".repeat(4_000)}\r\n`.repeat(6)}\r\n`),
    "a trailer without a colon": chunked("0\r\nnonsense\r\n\r\n"),
    "a trailer that continues on the next line": chunked("0\r\nA: b\r\n c\r\n\r\n"),
  }
  const others: Record<string, readonly [string, string]> = {
    "another transfer coding": ["transferCodingUnknown", post("Transfer-Encoding: gzip\r\n", "")],
    "chunks after another coding": [
      "transferCodingUnknown",
      post("Transfer-Encoding: gzip, chunked\r\n", ""),
    ],
    "chunks before another coding": [
      "transferCodingUnknown",
      post("Transfer-Encoding: chunked, gzip\r\n", ""),
    ],
    "chunked with something after it": [
      "transferCodingUnknown",
      post("Transfer-Encoding: chunked;a\r\n", ""),
    ],
    "chunked with an odd blank": ["transferCodingUnknown", post("Transfer-Encoding: chunked\u00a0\r\n", "")],
    "chunked in quotes": ["transferCodingUnknown", post('Transfer-Encoding: "chunked"\r\n', "")],
    "an empty transfer coding": ["transferCodingUnknown", post("Transfer-Encoding:\r\n", "")],
    "a compressed body": [
      "unsupportedMediaType",
      post("Content-Encoding: gzip\r\nContent-Length: 5\r\n", "hello"),
    ],
    "another expectation": ["expectationFailed", header("Expect: something")],
    CONNECT: ["methodNotAllowed", line("CONNECT h:80 HTTP/1.1")],
    TRACE: ["methodNotAllowed", line("TRACE / HTTP/1.1")],
    "HTTP/2": ["versionNotSupported", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    "HTTP/0.9 with a version": ["versionNotSupported", line("GET / HTTP/0.9")],
    "a target that is too long": ["targetTooLong", line(`GET /${"a".repeat(targetBytesMax)} HTTP/1.1`)],
    "a method that is too long": [
      "targetTooLong",
      line(`${"A".repeat(targetBytesMax)} /aaaaaaaaaa${"a".repeat(80)} HTTP/1.1`),
    ],
    "a target without an end": ["targetTooLong", `GET /${"a".repeat(2 * targetBytesMax)}`],
    "headers of too many bytes": ["headersTooLarge", header(`X: ${"y".repeat(headerBytesMax)}`)],
    "headers without an end": ["headersTooLarge", `GET / HTTP/1.1\r\n${"X: y\r\n".repeat(4_000)}`],
    "too many headers": ["headersTooLarge", header(`${"X: y\r\n".repeat(headersMax - 1)}X: y`)],
  }
  const all = [
    ...Object.entries(malformed).map(([name, text]) => [name, "malformedRequest", text] as const),
    ...Object.entries(others).map(([name, [code, text]]) => [name, code, text] as const),
  ]
  for (const [name, code, text] of all) {
    test(`${name}, and nothing is read after it`, () => {
      expect(readRequests(`${text}${get}`).refusal).toBe(code as never)
      // The bytes after a head or a chunk that is refused must never become a request.
      const accepted = readRequests(`${text}${get}`).requests.filter(({ line }) => line !== "POST /p")
      expect(accepted).toEqual([])
      const step = Math.max(1, Math.floor(text.length / 60))
      for (let cut = 1; cut < text.length; cut += step) {
        expect([cut, readRequests(`${text}${get}`, [cut]).refusal]).toEqual([cut, code])
      }
    })
  }

  test("what can no longer become a request is refused before its end", () => {
    for (const text of ["\u0016\u0003\u0001", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: h\rX", "{"]) {
      expect([text, readRequests(text).refusal === undefined]).toEqual([text, text === "{"])
    }
  })

  const head = "GET / HTTP/1.1\r\nHost: h\r\n"
  const refusedBeforeTheEnd: Record<string, readonly [string | undefined, string]> = {
    "a first line that is no request": ["malformedRequest", "EHLO mail\r\n"],
    "an old version": ["versionNotSupported", "GET / HTTP/0.9\r\nHost: h\r\n"],
    "a method that is never allowed": ["methodNotAllowed", "TRACE / HTTP/1.1\r\nHost: h"],
    "a first line after an empty line": ["malformedRequest", "\r\nEHLO mail\r\n"],
    "a wrong first line of a second request": ["malformedRequest", `${get}EHLO mail\r\n`],
    "too many headers": ["headersTooLarge", `${head}${"X: y\r\n".repeat(headersMax)}`],
    "too many headers of a second request": [
      "headersTooLarge",
      `${head}X: y\r\n\r\n${head}${"X: y\r\n".repeat(headersMax)}`,
    ],
    "as many headers as allowed": [undefined, `${head}${"X: y\r\n".repeat(headersMax - 1)}`],
    "as many headers as allowed, with a part of the end": [
      undefined,
      `${head}${"X: y\r\n".repeat(headersMax - 1)}\r`,
    ],
    "as many headers as allowed, after another request": [
      undefined,
      `${head}X: y\r\n\r\n${head}${"X: y\r\n".repeat(headersMax - 1)}`,
    ],
    "a first line without its end": [undefined, "EHLO mail\r"],
  }
  for (const [name, [code, text]] of Object.entries(refusedBeforeTheEnd)) {
    const what = code === undefined ? "is not refused before its end" : "is refused before its end"
    test(`${name} ${what}, in any parts`, () => {
      expect(readRequests(text).refusal).toBe(code)
      for (let cut = 1; cut < text.length; cut++) {
        expect([cut, readRequests(text, [cut]).refusal]).toEqual([cut, code])
      }
      const everywhere = Array.from({ length: text.length - 1 }, (_, index) => index + 1)
      expect(readRequests(text, everywhere).refusal).toBe(code)
    })
  }
})

test("tiny chunks come out together, and only a limited number of bytes is read at once", () => {
  const reader = new RequestReader()
  const tiny = "1\r\nx\r\n"
  reader.push(Buffer.from(chunked(`${tiny.repeat(100_000)}0\r\n\r\n`)))
  reader.next()
  let parts = 0
  let bytes = 0
  for (let part = reader.next(); part instanceof Uint8Array; part = reader.next()) {
    parts++
    bytes += part.byteLength
    expect(part.byteLength).toBeLessThanOrEqual(chunkedPartBytes / tiny.length + 1)
  }
  expect(bytes).toBe(100_000)
  expect(parts).toBe(Math.ceil((100_000 * tiny.length) / chunkedPartBytes))
})

test("a header on two lines, two hosts and heads beyond a fixed limit have texts that say what to send", () => {
  const detailOf = (text: string): unknown => {
    const reader = new RequestReader()
    reader.push(Buffer.from(text))
    const part = reader.next()
    return part instanceof BadRequest ? part.detail : part
  }
  for (const folded of ["X: a\r\n b", "X: a\r\n\tb: c"]) {
    expect(detailOf(`GET / HTTP/1.1\r\nHost: h\r\n${folded}\r\n\r\n`)).toContain(
      "send each header on one line",
    )
  }
  expect(detailOf("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n")).toEndWith("send exactly one.")
  expect(detailOf(`GET /${"a".repeat(targetBytesMax)} HTTP/1.1\r\n\r\n`)).toEndWith("(this limit is fixed).")
})
