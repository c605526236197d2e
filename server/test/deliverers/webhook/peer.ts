// A target on a free loopback port that sends, byte for byte, what a test tells it to.
import { createServer, type Socket } from "node:net"

export interface Peer {
  readonly port: number
  readonly url: string
  /** The requests received so far, byte for byte. */
  readonly requests: ReadonlyArray<string>
  readonly connections: () => number
  /** Resolves when every connection made so far has ended. */
  readonly allClosed: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** `respond` is called once for each whole request. */
export const rawPeer = async (respond: (socket: Socket, request: string) => void): Promise<Peer> => {
  const requests: Array<string> = []
  const open = new Set<Socket>()
  const closings: Array<Promise<void>> = []
  const server = createServer((socket) => {
    open.add(socket)
    closings.push(
      new Promise((resolve) =>
        socket.on("close", () => {
          open.delete(socket)
          resolve()
        }),
      ),
    )
    socket.on("error", () => {})
    let text = ""
    socket.on("data", (chunk) => {
      text += chunk.toString("utf8")
      const headEnd = text.indexOf("\r\n\r\n")
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (headEnd < 0 || Buffer.byteLength(text.slice(headEnd + 4)) < length) return
      requests.push(text)
      const request = text
      text = ""
      respond(socket, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the peer has no port")
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}/hook`,
    requests,
    connections: () => closings.length,
    allClosed: async () => {
      await Promise.all(closings)
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** A whole answer with a known length. */
export const answerText = (status: number, headers: Record<string, string> = {}, body = ""): string => {
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) })
  return `HTTP/1.1 ${status} X\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`
}

/** A loopback port on which nothing listens. */
export const deadPort = async (): Promise<number> => {
  const peer = await rawPeer(() => {})
  await peer[Symbol.asyncDispose]()
  return peer.port
}
