import { describe, expect, test } from "bun:test"
import { AnswerReader } from "../../src/isolation/AnswerReader.ts"

const answers = [
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "HTTP/1.1 204 No Content\r\n\r\n",
  "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2\r\nab\r\n0\r\n\r\n",
  "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n",
].join("")
const statuses = [200, 204, 400, 503]

const readIn = (...pieces: ReadonlyArray<string>): ReadonlyArray<number> => {
  const reader = new AnswerReader()
  return pieces.flatMap((piece) => reader.read(Buffer.from(piece, "latin1")))
}

describe("answers on a connection", () => {
  test("are read in order, wherever the bytes are split", () => {
    for (let at = 0; at <= answers.length; at++)
      expect(readIn(answers.slice(0, at), answers.slice(at))).toEqual(statuses)
    expect(readIn(...answers)).toEqual(statuses)
  })

  test("do not count before they are complete", () => {
    expect(readIn("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell")).toEqual([])
  })

  test("fail with a head that never ends", () => {
    expect(() => readIn("HTTP/1.1 200 OK\r\n", "x".repeat(70_000))).toThrow("too long")
  })
})
