// A request that is written byte by byte, for what no well-behaved client would send.
import { connect } from "node:net"
import type { Answered } from "./ServiceFixture.ts"

/** Writes the parts, and returns what came back once the server has closed the connection. */
export const rawRequest = (port: number, parts: ReadonlyArray<string | Uint8Array>): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    const received: Array<Uint8Array> = []
    socket.on("data", (chunk: Uint8Array) => received.push(chunk))
    // A server may answer and close while the client still writes.
    socket.on("error", () => undefined)
    socket.on("close", () => {
      // If the client asked for it, 100 Continue comes before the answer.
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

/** The head of a create. It declares the length of the body, or that the body comes in chunks. */
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
