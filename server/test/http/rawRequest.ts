// A request written byte by byte, for what no well-behaved client would send.
import { connect } from "node:net"
import type { Answered } from "./ServiceFixture.ts"

/** Writes the parts, and answers with what came back once the server has closed the connection. */
export const rawRequest = (port: number, parts: ReadonlyArray<string | Uint8Array>): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    const received: Array<Uint8Array> = []
    socket.on("data", (chunk: Uint8Array) => received.push(chunk))
    // A server that answers and closes while more is being written is within its rights.
    socket.on("error", () => undefined)
    socket.on("close", () => {
      // An invitation to send the body comes before the answer, where one was asked for.
      const text = Buffer.concat(received)
        .toString("utf8")
        .replace(/^HTTP\/1.1 100 Continue\r\n\r\n/, "")
      const [head = "", ...rest] = text.split("\r\n\r\n")
      const body = rest.join("\r\n\r\n")
      const [statusLine = "", ...lines] = head.split("\r\n")
      const headers = new Headers(lines.map((line): [string, string] => splitOnce(line)))
      try {
        const json = body === "" ? undefined : JSON.parse(body)
        resolve({ status: Number(statusLine.split(" ")[1]), headers, text: body, json })
      } catch (error) {
        reject(error)
      }
    })
    for (const part of parts) socket.write(part)
  })

/** The head of a create that says how long its body is, or that it comes in chunks. */
export const createHead = (length: number | "chunked"): string =>
  [
    "POST /api/v1/timers/create HTTP/1.1",
    "host: localhost",
    "content-type: application/json",
    length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`,
    "connection: close",
    "\r\n",
  ].join("\r\n")

const splitOnce = (line: string): [string, string] => {
  const at = line.indexOf(":")
  return [line.slice(0, at), line.slice(at + 1).trim()]
}
