// TLS before a server that speaks none: it decrypts what clients send and passes it on. For tests of clients whose protocol
// is encrypted from its first byte.
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { createServer, type Server } from "node:tls"
import type { Certificates } from "./Certificates.ts"

export class TlsFront implements AsyncDisposable {
  readonly #listener: Server
  readonly #sockets = new Set<Socket>()

  private constructor(listener: Server) {
    this.#listener = listener
  }

  /** Listens on a free loopback port. */
  static async before(
    target: { readonly host: string; readonly port: number },
    { certFile, keyFile }: Certificates,
  ): Promise<TlsFront> {
    const listener = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
    const front = new TlsFront(listener)
    listener.on("secureConnection", (client) => {
      const server = connect(target.port, target.host)
      for (const socket of [client, server]) {
        front.#sockets.add(socket)
        socket.on("error", () => {})
        socket.once("close", () => {
          client.destroy()
          server.destroy()
          front.#sockets.delete(socket)
        })
      }
      client.pipe(server)
      server.pipe(client)
    })
    // Clients that do not trust the certificate end their connection.
    listener.on("tlsClientError", () => {})
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))
    return front
  }

  /** host:port. */
  get address(): string {
    const address = this.#listener.address()
    if (address === null || typeof address === "string") throw new Error("the front does not listen")
    return `127.0.0.1:${address.port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()))
  }
}
