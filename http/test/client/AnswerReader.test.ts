// What a hostile receiver may answer: heads that are slow to check, and bodies of tiny chunks.
import { describe, expect, test } from "bun:test"
import { readAnswerHead } from "../../src/client/AnswerHead.ts"
import { AnswerReader } from "../../src/client/AnswerReader.ts"

const headOf = (...lines: ReadonlyArray<string>) => readAnswerHead(["HTTP/1.1 200 OK", ...lines].join("\r\n"))

describe("the head of an answer", () => {
  test("has names without blanks, and values without the blanks around them", () => {
    expect(headOf("a: \t x  y \t")?.headers.get("a")).toBe("x  y")
    expect(headOf("a:")?.headers.get("a")).toBe("")
    expect(headOf("A: 1", "a: b:c")?.headers.get("a")).toBe("1, b:c")
    for (const line of ["a : 1", ": 1", "a", " a: 1", "a: \0", "a: x\r", "a: x\ny"])
      expect([line, headOf(line)]).toEqual([line, undefined])
  })

  // A pattern that goes back and forth needs more than a second for each of these.
  test("is checked in one pass, however long its blanks are", () => {
    for (let more = 0; more < 10; more++)
      for (const end of ["\0", "\r", "\n"])
        expect(headOf(`a:${" ".repeat(31_000 + more)}${end}`)).toBe(undefined)
  }, 10_000)
})

const chunkedHead = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

const readerOf = (body: string): AnswerReader => {
  const reader = new AnswerReader()
  reader.push(Buffer.from(chunkedHead + body))
  expect(reader.next()).toBe("head")
  reader.keep(64 * 1024)
  return reader
}

describe("a chunked answer", () => {
  test("of tiny chunks is given up soon", () => {
    const body = "1\r\nx\r\n".repeat(200_000)
    const reader = readerOf(body)
    expect(reader.next()).toBe("malformed")
    expect(reader.restBytes).toBeGreaterThan(body.length - 65 * 1024)
  })

  test("of small chunks is read, and so is a short answer of tiny ones", () => {
    const small = readerOf(`${"8\r\nabcdefgh\r\n".repeat(5_000)}0\r\n\r\n`)
    expect(small.next()).toBe("end")
    expect(Buffer.from(small.kept).toString()).toBe("abcdefgh".repeat(5_000))
    const tiny = readerOf(`${"1\r\nx\r\n".repeat(3_000)}0\r\n\r\n`)
    expect(tiny.next()).toBe("end")
    expect(tiny.kept.length).toBe(3_000)
  })

  test("keeps a short body without the bytes that it arrived in", () => {
    const reader = new AnswerReader()
    reader.push(Buffer.from(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(20_000)}\r\ncontent-length: 2\r\n\r\nok`))
    expect(reader.next()).toBe("head")
    reader.keep(64 * 1024)
    expect(reader.next()).toBe("end")
    expect(Buffer.from(reader.kept).toString()).toBe("ok")
    expect(reader.kept.buffer.byteLength).toBeLessThan(10_000)
  })
})
