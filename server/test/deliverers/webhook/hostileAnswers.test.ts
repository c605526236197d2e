// Answers that try to harm the service: endless, contradictory or malformed ones. Every attempt ends with a delivery, its
// connection is closed or is kept only if the answer was whole, and nothing that such a receiver sent reaches the next
// attempt.
import { describe, expect, test } from "bun:test"
import type { Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { openEgress } from "@punctual/egress/Egress"
import { Effect } from "effect"
import { makeWebhookDeliverer } from "../../../src/deliverers/webhook/WebhookDeliverer.ts"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { sampleFire, sampleWebhook } from "../../../testkit/sampleFire.ts"
import { answerText, rawPeer } from "./peer.ts"

const deliverTo = (url: string, timeoutMs = 10_000): Promise<Delivery> =>
  Effect.runPromise(
    makeWebhookDeliverer({ egress: openEgress }).deliver(sampleFire(sampleWebhook(url, { timeoutMs }))),
  )

const endless = (text: string | Buffer) => (socket: Socket) => {
  const pump = () => {
    let hasRoom = true
    while (hasRoom && !socket.destroyed) hasRoom = socket.write(text)
  }
  socket.on("drain", pump)
  pump()
}

const after = (start: string | Buffer, go: (socket: Socket) => void) => (socket: Socket) => {
  socket.write(start)
  go(socket)
}

const ok = "HTTP/1.1 200 OK\r\n"
const json = "content-type: application/json\r\n"
const chunked = "transfer-encoding: chunked\r\n\r\n"
const bomb = gzipSync(Buffer.alloc(20_000_000), { level: 9 })
const chunk = `10000\r\n${"a".repeat(65_536)}\r\n`
const aYear = '{"ok":true,"nextExecuteAt":"9999-12-31T23:59:59Z"}'

/** The answers as bytes: each is written at once, or begun and then continued for ever. */
const answers: Readonly<Record<string, { readonly send: (socket: Socket) => void; readonly kind: string }>> =
  {
    "compressed JSON that would grow": {
      send: (socket) => {
        socket.write(`${ok}content-encoding: gzip\r\n${json}content-length: ${bomb.length}\r\n\r\n`)
        socket.write(bomb)
      },
      kind: "delivered",
    },
    "a compressed failure": {
      send: (socket) =>
        socket.write("HTTP/1.1 500 X\r\ncontent-encoding: br\r\ncontent-length: 4\r\n\r\nabcd"),
      kind: "retry",
    },
    "endless headers": { send: after(ok, endless(`x-h: ${"a".repeat(200)}\r\n`)), kind: "retry" },
    "one endless header": { send: after(`${ok}x: `, endless("a".repeat(65_536))), kind: "retry" },
    "endless chunks of JSON": { send: after(`${ok}${json}${chunked}`, endless(chunk)), kind: "delivered" },
    "endless chunks of text": { send: after(`${ok}${chunked}`, endless(chunk)), kind: "delivered" },
    "endless chunks of a failure": {
      send: after(`HTTP/1.1 500 X\r\n${chunked}`, endless(chunk)),
      kind: "retry",
    },
    "a chunk of 16 exbibytes": {
      send: after(`${ok}${json}${chunked}ffffffffffffffff\r\n`, endless("a".repeat(65_536))),
      kind: "retry",
    },
    "an endless chunk extension": {
      send: after(`${ok}${json}${chunked}1;`, endless("a".repeat(65_536))),
      kind: "retry",
    },
    "endless trailers": {
      send: after(`${ok}${json}${chunked}2\r\n{}\r\n0\r\n`, endless(`x: ${"a".repeat(6_553)}\r\n`)),
      kind: "retry",
    },
    "endless interim answers": { send: endless("HTTP/1.1 100 Continue\r\n\r\n".repeat(200)), kind: "retry" },
    "endless early hints": {
      send: endless("HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n".repeat(200)),
      kind: "retry",
    },
    "another protocol": {
      send: (socket) =>
        socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"),
      kind: "retry",
    },
    "HTTP 2": {
      send: (socket) => socket.end(Buffer.from("000006040000000000000000000000", "hex")),
      kind: "retry",
    },
    "HTTP 0.9": { send: (socket) => socket.end("hello"), kind: "retry" },
    "a negative length": {
      send: (socket) => socket.write(`${ok}content-length: -5\r\n\r\n{}`),
      kind: "retry",
    },
    "a length beyond all numbers": {
      send: (socket) => socket.write(`${ok}${json}content-length: 99999999999999999999999\r\n\r\n{}`),
      kind: "retry",
    },
    "two lengths": {
      send: (socket) => socket.write(`${ok}${json}content-length: 2\r\ncontent-length: 900000000\r\n\r\n{}`),
      kind: "retry",
    },
    "a length and chunks": {
      send: (socket) => socket.write(`${ok}${json}content-length: 5\r\n${chunked}2\r\n{}\r\n0\r\n\r\n`),
      kind: "delivered",
    },
    "a status of two digits": { send: (socket) => socket.write("HTTP/1.1 99 X\r\n\r\n"), kind: "retry" },
    "a status that is no number": { send: (socket) => socket.write("HTTP/1.1 abc X\r\n\r\n"), kind: "retry" },
    "the status 999": { send: (socket) => socket.write(answerText(999, {}, "")), kind: "retry" },
    "a NUL in a header": {
      send: (socket) => socket.write(`${ok}x: a\0b\r\ncontent-length: 0\r\n\r\n`),
      kind: "retry",
    },
    "a folded header": {
      send: (socket) => socket.write(`${ok}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`),
      kind: "retry",
    },
    "a body for a status without one": {
      send: (socket) => socket.write(`HTTP/1.1 204 X\r\ncontent-length: 10\r\n${json}\r\n0123456789`),
      kind: "delivered",
    },
    "no answer": { send: (socket) => socket.end(), kind: "retry" },
    "a payload that is nested too deeply": {
      send: (socket) =>
        socket.write(
          answerText(
            200,
            { "content-type": "application/json" },
            `{"ok":true,"nextDelay":"1h","payload":${"[".repeat(30_000)}${"]".repeat(30_000)}}`,
          ),
        ),
      kind: "retry",
    },
    "a far time": {
      send: (socket) => socket.write(answerText(200, { "content-type": "application/json" }, aYear)),
      kind: "rearm",
    },
    "bytes that are no text": {
      send: (socket) => {
        socket.write(`${ok}${json}content-length: 11\r\n\r\n`)
        socket.write(Buffer.from('{"ok":"\xff\xfe"}', "latin1"))
      },
      kind: "delivered",
    },
  }

describe("a hostile answer ends as a delivery, and its connection with it", () => {
  for (const [name, { send, kind }] of Object.entries(answers)) {
    test(name, async () => {
      await using peer = await rawPeer(send)
      expect(await deliverTo(peer.url)).toMatchObject({ kind })
    })
  }
})

describe("an answer that never ends by itself", () => {
  for (const [name, start] of [
    ["has a length that is never reached", `${ok}${json}content-length: 9007199254740991\r\n\r\n{}`],
    ["hangs before its head", ""],
    ["hangs in its head", "HTTP/1.1 20"],
    ["hangs in a chunk", `${ok}${json}${chunked}ff\r\n{`],
  ] as const) {
    test(`${name} ends with the time-out`, async () => {
      await using peer = await rawPeer((socket) => socket.write(start))
      expect(await deliverTo(peer.url, 50)).toMatchObject({ kind: "retry", isHostFailure: true })
      await peer.allClosed()
    })
  }
})

describe("a connection", () => {
  const deliverTwice = async (first: string, second = answerText(200, {}, "")) => {
    const turns = [first, second]
    const peer = await rawPeer((socket) => socket.write(turns.shift() ?? ""))
    const deliverer = makeWebhookDeliverer({ egress: openEgress })
    const deliver = () => Effect.runPromise(deliverer.deliver(sampleFire(sampleWebhook(peer.url))))
    const deliveries = [await deliver(), await deliver()]
    return { peer, deliveries }
  }

  for (const [name, answer] of [
    ["with more bytes than its answer has", `${answerText(200, {}, "")}HTTP/1.1 410 X\r\n\r\n`],
    ["with a length and chunks", `${ok}content-length: 5\r\n${chunked}0\r\n\r\n`],
    ["of HTTP 1.0", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["that announces its close", `${ok}connection: Keep-Alive, Close\r\ncontent-length: 0\r\n\r\n`],
    ["with a long body that nobody reads", `${ok}content-length: 100000\r\n\r\n`],
  ] as const) {
    test(`${name} carries no second request`, async () => {
      const { peer, deliveries } = await deliverTwice(answer)
      await using _ = peer
      expect(deliveries).toEqual([
        { kind: "delivered", status: 200 },
        { kind: "delivered", status: 200 },
      ])
      expect(peer.connections()).toBe(2)
    })
  }

  test("with an unread body in pieces is kept when the body has ended", async () => {
    await using peer = await rawPeer((socket) => {
      socket.write(`${ok}content-length: 4\r\n\r\n`)
      setImmediate(() => socket.write("text"))
    })
    const deliverer = makeWebhookDeliverer({ egress: openEgress })
    const deliver = () => Effect.runPromise(deliverer.deliver(sampleFire(sampleWebhook(peer.url))))
    // An attempt that starts before the body has ended uses another connection. Then there are two, and both are kept.
    for (let n = 0; n < 20; n++) await deliver()
    expect(peer.requests.length).toBe(20)
    expect(peer.connections()).toBeLessThan(20)
  })

  test("that the receiver closed while it was free is replaced, and the request is sent once more", async () => {
    let connections = 0
    await using peer = await rawPeer((socket) => {
      // The first connection answers once and closes at its second request.
      if (socket.listenerCount("used") > 0) socket.destroy()
      else {
        connections++
        socket.on("used", () => {})
        socket.write(answerText(200, {}, ""))
      }
    })
    const deliverer = makeWebhookDeliverer({ egress: openEgress })
    const deliver = () => Effect.runPromise(deliverer.deliver(sampleFire(sampleWebhook(peer.url))))
    expect(await deliver()).toMatchObject({ kind: "delivered" })
    expect(await deliver()).toMatchObject({ kind: "delivered" })
    expect(connections).toBe(2)
  })

  test("that is new and closes without an answer fails, and is not tried again", async () => {
    await using peer = await rawPeer((socket) => socket.destroy())
    expect(await deliverTo(peer.url)).toMatchObject({ kind: "retry", isHostFailure: true })
    expect(peer.requests.length).toBe(1)
  })
})
