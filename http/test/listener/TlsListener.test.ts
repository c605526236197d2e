// The listener with TLS: the same laws, and what only TLS has.
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { connect as connectTls } from "node:tls"
import { makeCertificates } from "@punctual/server/testkit/Certificates"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Exit } from "effect"
import { listen } from "../../src/listener/Listener.ts"
import { getRequest, RawClient } from "../../testkit/RawClient.ts"
import { listenerSuite, type TlsOfSuite, withListener } from "./listenerSuite.ts"

const makeTls = (): TlsOfSuite => {
  using folder = new TemporaryFolder()
  const files = makeCertificates(folder.path, "IP:127.0.0.1,IP:::1,DNS:localhost")
  const text = (name: keyof typeof files) => readFileSync(files[name], "utf8")
  return { ca: text("caFile"), certificate: { cert: text("certFile"), key: text("keyFile") } }
}

const tls = makeTls()
const { ca, certificate } = tls
const answered = () => ({ status: 200, headers: {}, body: "answer" })

const fetched = async (url: string, authority: string): Promise<string> =>
  (await fetch(url, { tls: { ca: authority }, keepalive: false })).text()

describe("with TLS", () => {
  listenerSuite(() => tls)

  test("a new certificate is for new connections, and open ones go on", () =>
    withListener({ certificate, handle: answered }, async ({ port, url, useCertificate }) => {
      using open = await RawClient.connected({ port, ca })
      expect(await fetched(url, ca)).toBe("answer")
      const next = makeTls()
      useCertificate(next.certificate)
      for (let index = 0; index < 10; index++) {
        expect(await fetched(url, next.ca)).toBe("answer")
        await expect(fetched(url, ca)).rejects.toThrow()
      }
      open.send(getRequest("/"))
      expect(await open.answers(1)).toEqual([200])
    }))

  test("a certificate that the runtime refuses changes nothing", () =>
    withListener({ certificate, handle: answered }, async ({ url, useCertificate }) => {
      expect(() => useCertificate({ cert: "wrong", key: "wrong" })).toThrow()
      expect(await fetched(url, ca)).toBe("answer")
    }))

  test("a stopped listener stays stopped when the certificate changes", () =>
    withListener({ certificate, handle: answered }, async ({ url, useCertificate, close }) => {
      await Effect.runPromise(close(1_000))
      useCertificate(makeTls().certificate)
      await expect(fetched(url, ca)).rejects.toThrow()
    }))

  test("two services with TLS do not share a port", () =>
    withListener({ certificate, handle: answered }, async ({ port }) => {
      const second = listen({
        namePrefix: "sample",
        host: "127.0.0.1",
        port,
        certificate,
        handle: async () => answered(),
        onDefect: () => undefined,
      })
      const exit = await Effect.runPromiseExit(Effect.scoped(second))
      expect(Exit.isFailure(exit) && String(exit.cause)).toContain(`Port ${port} on 127.0.0.1 is in use`)
    }))

  test("routes see that the client uses TLS", () =>
    withListener(
      { certificate, handle: ({ isSecure }) => ({ ...answered(), body: String(isSecure) }) },
      async ({ url }) => expect(await fetched(url, ca)).toBe("true"),
    ))

  test("a client that does not speak TLS, or stops to speak it, is closed, and this is no defect", async () => {
    const defects: Array<unknown> = []
    const onDefect = (error: unknown) => void defects.push(error)
    await withListener({ certificate, handle: answered, onDefect }, async ({ port, url }) => {
      using plain = await RawClient.connected({ port })
      plain.socket.on("end", () => plain.socket.end())
      plain.send(getRequest("/"))
      await plain.closed()
      expect(plain.statuses).toEqual([])

      const raw = connect(port, "127.0.0.1")
      const lapsed = new RawClient(connectTls({ socket: raw, ca, host: "127.0.0.1" }))
      lapsed.send(getRequest("/"))
      expect(await lapsed.answers(1)).toEqual([200])
      // A record that nobody has encrypted.
      raw.write(Buffer.from(`1703030010${"22".repeat(16)}`, "hex"))
      await lapsed.closed()
      expect(await fetched(url, ca)).toBe("answer")
    })
    expect(defects).toEqual([])
  })

  test("a connection without a handshake counts, and makes room or closes when its time is over", () =>
    withListener({ certificate, handle: answered, limits: { headMs: 1 } }, async ({ port }) => {
      using silent = await RawClient.connected({ port })
      silent.socket.on("end", () => silent.socket.end())
      await silent.closed()
      expect(silent.received).toBe("")
    }))
})
