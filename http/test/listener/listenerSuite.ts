// The listener over real sockets: what the runtime's sockets do must fit to what a connection expects of them. The same
// laws hold with and without TLS.
import { describe, expect, test } from "bun:test"
import { connect } from "node:net"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Exit } from "effect"
import type { HttpAnswer } from "../../src/HttpAnswer.ts"
import type { HttpRequest } from "../../src/HttpRequest.ts"
import { type Listening, type ListenOptions, listen } from "../../src/listener/Listener.ts"
import type { ServerCertificate } from "../../src/listener/TcpServer.ts"
import { getRequest, RawClient, type RawClientOptions } from "../../testkit/RawClient.ts"

export interface TlsOfSuite {
  readonly certificate: ServerCertificate
  /** The authority, as PEM. */
  readonly ca: string
}

/** A thread that opens connections and resets them at once. */
const resettingClient = `
  import { connect } from "node:net"
  self.onmessage = async ({ data: { port, isDone } }) => {
    for (let count = 0; count < 20; count++) {
      await new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => socket.resetAndDestroy())
        socket.on("error", () => {})
        socket.on("close", resolve)
      })
    }
    Atomics.store(isDone, 0, 1)
    Atomics.notify(isDone, 0)
  }
`

type Handle = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>

export const withListener = (
  options: Partial<Omit<ListenOptions, "handle">> & { readonly handle: Handle },
  use: (listening: Listening) => Promise<void>,
): Promise<void> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(
        listen({
          namePrefix: "sample",
          host: "127.0.0.1",
          port: 0,
          onDefect: () => undefined,
          ...options,
          handle: async (request) => options.handle(request),
        }),
        (listening) => Effect.promise(() => use(listening)),
      ),
    ),
  )

const answerOf = (body: HttpAnswer["body"]): HttpAnswer => ({ status: 200, headers: {}, body })
const echoPath: Handle = ({ path }) => answerOf(path)

export const listenerSuite = (tls?: () => TlsOfSuite): void => {
  const scheme = tls === undefined ? "http" : "https"
  const served: typeof withListener = (options, use) =>
    withListener({ ...options, ...(tls === undefined ? {} : { certificate: tls().certificate }) }, use)
  const connected = (options: RawClientOptions) =>
    RawClient.connected({ ...options, ...(tls === undefined ? {} : { ca: tls().ca }) })
  const fetched = (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, ...(tls === undefined ? {} : { tls: { ca: tls().ca } }) })

  test("pipelined requests are answered in order, in any parts", () =>
    served({ handle: echoPath }, async ({ port }) => {
      const text = ["/1", "/2", "/3"].map(getRequest).join("")
      for (const partLength of [text.length, 40, 7, 1]) {
        using client = await connected({ port })
        client.socket.setNoDelay(true)
        for (let at = 0; at < text.length; at += partLength) {
          await new Promise((resolve) => client.socket.write(text.slice(at, at + partLength), resolve))
        }
        expect(await client.answers(3)).toEqual([200, 200, 200])
        expect(client.received.match(/\r\n\r\n\/\d/g)).toEqual(["\r\n\r\n/1", "\r\n\r\n/2", "\r\n\r\n/3"])
      }
    }))

  test("a client that closes its side after its requests gets all answers", () =>
    served({ handle: echoPath }, async ({ port }) => {
      using client = await connected({ port })
      client.socket.end(getRequest("/1") + getRequest("/2"))
      await client.closed()
      expect(client.statuses).toEqual([200, 200])
    }))

  test("clients that reset their connections before these are accepted are no defect", () => {
    const defects: Array<unknown> = []
    return served({ handle: echoPath, onDefect: (error) => defects.push(error) }, async ({ port }) => {
      const isDone = new Int32Array(new SharedArrayBuffer(4))
      const client = new Worker(URL.createObjectURL(new Blob([resettingClient])))
      client.postMessage({ port, isDone })
      // This thread accepts nothing until the client has reset all its connections.
      Atomics.wait(isDone, 0, 0, 10_000)
      client.terminate()
      using after = await connected({ port })
      after.send(getRequest("/1"))
      expect(await after.answers(1)).toEqual([200])
      expect(defects).toEqual([])
    })
  })

  test("slow headers are answered with 408, and the connection closes", () =>
    served({ handle: echoPath, limits: { headMs: 1 } }, async ({ port }) => {
      using client = await connected({ port })
      client.send("GET / HT")
      expect(await client.answers(1)).toEqual([408])
      client.socket.end()
      await client.closed()
    }))

  test("a connection without a request closes", () =>
    served({ handle: echoPath, limits: { idleMs: 1 } }, async ({ port }) => {
      using client = await connected({ port })
      client.socket.on("end", () => client.socket.end())
      await client.closed()
      expect(client.received).toBe("")
    }))

  test("a client that never reads is closed, and a client that reads slowly gets everything", () =>
    served(
      { handle: () => answerOf("x".repeat(20_000_000)), limits: { readMs: 2_000 } },
      async ({ port, url }) => {
        using silent = await connected({ port })
        silent.socket.pause()
        silent.send(getRequest("/"))
        expect((await (await fetched(`${url}/`)).text()).length).toBe(20_000_000)
        // The system tells a paused client about the end only when it writes.
        await eventually("the connection is closed", () => {
          silent.send("x")
          return silent.socket.writable && !silent.isClosed ? undefined : true
        })
      },
    ))

  describe("bodies", () => {
    test("of many megabytes arrive whole, with a length or in chunks", () =>
      served(
        {
          handle: ({ body }) =>
            new Promise((resolve) => {
              let sum = 0
              let bytes = 0
              body.receive({
                chunk: (part) => {
                  bytes += part.byteLength
                  for (let at = 0; at < part.byteLength; at += 1_000) sum += part[at] ?? 0
                },
                end: () => resolve(answerOf(`${bytes} ${sum > 0}`)),
                broken: () => resolve({ status: 400, headers: {}, body: "broken" }),
              })
            }),
        },
        async ({ url }) => {
          const big = new Uint8Array(30_000_000).fill(7)
          expect(await (await fetched(url, { method: "POST", body: big })).text()).toBe("30000000 true")
          async function* parts() {
            for (let index = 0; index < 30; index++) yield big.subarray(0, 100_000)
          }
          // The runtime accepts an iterable as a body, but its types do not.
          const inChunks = await fetched(url, { method: "POST", body: parts() as unknown as ReadableStream })
          expect(await inChunks.text()).toBe("3000000 true")
        },
      ))

    test("that a route refuses before their end: the client reads the answer", () =>
      served({ handle: () => ({ status: 413, headers: {}, body: "too large" }) }, async ({ port }) => {
        using client = await connected({ port })
        client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n\r\n")
        client.send("x".repeat(5_000_000))
        expect(await client.answers(1)).toEqual([413])
        expect(client.received).toContain("connection: close")
      }))

    test("that a route refuses before their end: a client that reads only after it has sent all of it gets the answer", () => {
      const handle: Handle = () => ({ status: 413, headers: {}, body: "too large" })
      // A busy machine must not use up the time of the client.
      return served({ handle, limits: { lingerMs: 20_000 } }, async ({ port }) => {
        using client = await connected({ port })
        client.socket.pause()
        // More than the buffers of the system hold.
        const bytes = 32_000_000
        client.send(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${bytes}\r\n\r\n`)
        const failure = await new Promise((resolve) => {
          client.socket.on("close", () => resolve("closed"))
          client.socket.write(Buffer.alloc(bytes), resolve)
        })
        expect(failure).toBeFalsy()
        client.socket.resume()
        expect(await client.answers(1)).toEqual([413])
        expect(client.received).toEndWith("too large")
      })
    })
  })

  describe("a stream", () => {
    test("reaches the client as it is made, and the client's end reaches the stream", async () => {
      let signal: AbortSignal | undefined
      let isFinished = false
      const handle: Handle = (request) => {
        signal = request.signal
        const isOver = new Promise<void>((resolve) =>
          request.signal.addEventListener("abort", () => resolve()),
        )
        const parts = async function* () {
          try {
            yield "data: 1\n\n"
            yield "data: 2\n\n"
            await isOver
          } finally {
            isFinished = true
          }
        }
        return { status: 200, headers: { "content-type": "text/event-stream" }, body: parts() }
      }
      await served({ handle }, async ({ url }) => {
        const leaving = new AbortController()
        const response = await fetched(url, { signal: leaving.signal })
        let text = ""
        for await (const chunk of response.body ?? []) {
          text += Buffer.from(chunk).toString()
          if (text.includes("data: 2")) break
        }
        leaving.abort()
        await eventually("the stream has ended", () => (isFinished ? true : undefined))
        expect(signal?.aborted).toBe(true)
      })
    })

    test("ends when the service stops", async () => {
      const handle: Handle = ({ signal }) => {
        const parts = async function* () {
          yield "first"
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
          yield "last"
        }
        return answerOf(parts())
      }
      await served({ handle }, async ({ url, close }) => {
        const response = await fetched(url)
        const text = response.text()
        await Effect.runPromise(close(60_000))
        expect(await text).toBe("firstlast")
      })
    })
  })

  describe("closing", () => {
    test("refuses new connections, answers running requests, and then is complete", async () => {
      const { promise, resolve } = Promise.withResolvers<HttpAnswer>()
      let isRunning = false
      const handle: Handle = () => {
        isRunning = true
        return promise
      }
      await served({ handle }, async ({ port, close }) => {
        using idle = await connected({ port })
        using running = await connected({ port })
        running.send(getRequest("/"))
        await eventually("the request runs", () => (isRunning ? true : undefined))
        const closing = Effect.runPromise(close(60_000))
        idle.socket.on("end", () => idle.socket.end())
        await idle.closed()
        await expect(connected({ port })).rejects.toThrow()
        resolve(answerOf("done"))
        expect(await running.answers(1)).toEqual([200])
        expect(running.received).toContain("connection: close")
        running.socket.end()
        await closing
      })
    })

    test("cuts off what does not end in time", () =>
      served({ handle: () => new Promise(() => undefined) }, async ({ port, close }) => {
        using client = await connected({ port })
        client.send(getRequest("/"))
        await Effect.runPromise(close(1))
        await client.closed()
        expect(client.received).toBe("")
      }))
  })

  describe("limits of connections", () => {
    test("a connection beyond the limit gets an answer, and others go on", () => {
      const { promise, resolve } = Promise.withResolvers<HttpAnswer>()
      return served({ handle: () => promise, limits: { connectionsPerAddressMax: 1 } }, async ({ port }) => {
        using first = await connected({ port })
        first.send(getRequest("/"))
        await eventually("one is refused", async () => {
          using second = await connected({ port })
          second.send(getRequest("/"))
          return (await second.answers(1))[0] === 503 ? true : undefined
        })
        using other = await connected({ port, from: "127.0.0.2" })
        other.send(getRequest("/"))
        resolve(answerOf("done"))
        expect([await first.answers(1), await other.answers(1)]).toEqual([[200], [200]])
      })
    })
  })

  test("IPv6 is served, and the address says who asks", () =>
    served({ host: "::1", handle: ({ remoteAddress }) => answerOf(remoteAddress) }, async ({ url }) => {
      expect(url).toStartWith(`${scheme}://[::1]:`)
      expect(await (await fetched(url)).text()).toBe("::1")
    }))

  test("a port that is in use is refused, and the message says what to do", () =>
    served({ handle: echoPath }, async ({ port }) => {
      const second = listen({
        namePrefix: "sample",
        host: "127.0.0.1",
        port,
        handle: async (request) => echoPath(request),
        onDefect: () => undefined,
      })
      const exit = await Effect.runPromiseExit(Effect.scoped(second))
      expect(Exit.isFailure(exit) && String(exit.cause)).toContain(`Port ${port} on 127.0.0.1 is in use`)
    }))

  test("a connection that is reset does no harm", () =>
    served({ handle: echoPath }, async ({ port, url }) => {
      for (let index = 0; index < 20; index++) {
        await new Promise<void>((resolve) => {
          const socket = connect(port, "127.0.0.1", () => {
            socket.write(getRequest("/").repeat(index))
            socket.resetAndDestroy()
            resolve()
          })
          socket.on("error", () => undefined)
        })
      }
      expect(await (await fetched(`${url}/well`)).text()).toBe("/well")
    }))
}
