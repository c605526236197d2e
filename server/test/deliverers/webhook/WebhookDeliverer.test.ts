import { describe, expect, test } from "bun:test"
import type { Socket } from "node:net"
import { openEgress, parseEgress } from "@punctual/egress/Egress"
import type { Resolve } from "@punctual/egress/Resolver"
import { Effect, Fiber, Result } from "effect"
import { Webhook } from "standardwebhooks"
import {
  makeWebhookDeliverer,
  type WebhookOptions,
} from "../../../src/deliverers/webhook/WebhookDeliverer.ts"
import type { WebhookTarget } from "../../../src/domain/Timer.ts"
import type { Delivery, Fire } from "../../../src/ports/Deliverer.ts"
import { sampleFire, sampleWebhook } from "../../../testkit/sampleFire.ts"
import { answerText, deadPort, rawPeer } from "./peer.ts"

const fireTo = (url: string, target: Partial<WebhookTarget> = {}, payload = '{"a": 1}'): Fire =>
  sampleFire(sampleWebhook(url, target), { payload: new TextEncoder().encode(payload) })

const deliver = (fire: Fire, options: Partial<WebhookOptions> = {}): Promise<Delivery> =>
  Effect.runPromise(makeWebhookDeliverer({ egress: openEgress, ...options }).deliver(fire))

const keptOf = (delivery: Delivery): string | undefined =>
  "answer" in delivery ? delivery.answer : undefined

const json = { "content-type": "application/json; charset=utf-8" }

describe("an exchange", () => {
  test("sends the request unchanged and delivers on 2xx", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(200, {}, "thanks")))
    const fire = fireTo(`${peer.url}?a=b#c`, { headers: { "X-Own": "1" } })
    expect(await deliver(fire)).toEqual({ kind: "delivered", status: 200 })
    const [request = ""] = peer.requests
    expect(request).toStartWith("POST /hook?a=b HTTP/1.1\r\n")
    expect(request.toLowerCase()).toContain("\r\nx-own: 1\r\n")
    expect(request.toLowerCase()).toContain(`\r\nhost: 127.0.0.1:${peer.port}\r\n`)
    expect(request).toContain('"correlationId":"c","payload":{"a": 1}}')
  })

  test("has no body on GET", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(204)))
    expect(await deliver(fireTo(peer.url, { method: "GET" }))).toEqual({ kind: "delivered", status: 204 })
    expect(peer.requests[0]).toStartWith("GET /hook HTTP/1.1\r\n")
    expect(peer.requests[0]).toEndWith("\r\n\r\n")
  })

  test("reads JSON of known and unknown length", async () => {
    const said = '{"ok":true,"nextDelay":"5s","payload": [1.0]}'
    const chunks = `5\r\n${said.slice(0, 5)}\r\n${(said.length - 5).toString(16)}\r\n${said.slice(5)}\r\n0\r\n\r\n`
    const chunked = `HTTP/1.1 200 X\r\ncontent-type: application/problem+json\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`
    for (const answer of [answerText(200, json, said), chunked]) {
      await using peer = await rawPeer((socket) => socket.write(answer))
      const payload = new TextEncoder().encode("[1.0]")
      const expected = { kind: "rearm", status: 200, next: { inMs: 5_000 }, payload } as const
      expect(await deliver(fireTo(peer.url))).toEqual(expected)
    }
  })

  test("interprets at most one answer with a large payload in a turn of the thread", async () => {
    const waiting: Array<Socket> = []
    const said = JSON.stringify({ ok: true, nextDelay: "5s", payload: "x".repeat(60_000) })
    const attempts = 12
    await using peer = await rawPeer((socket) => {
      waiting.push(socket)
      // All answers leave together.
      if (waiting.length === attempts) for (const each of waiting) each.write(answerText(200, json, said))
    })
    let turn = 0
    let isOver = false
    const count = () => {
      turn++
      if (!isOver) setImmediate(count)
    }
    count()
    const deliverer = makeWebhookDeliverer({ egress: openEgress })
    const turns = await Promise.all(
      Array.from({ length: attempts }, async () => {
        const delivery = await Effect.runPromise(deliverer.deliver(fireTo(peer.url)))
        expect(delivery.kind).toBe("rearm")
        return turn
      }),
    )
    isOver = true
    expect(new Set(turns).size).toBe(attempts)
  })

  test("does not read a body that is not JSON", async () => {
    for (const type of ["text/plain", "application/jsonlines", "text/json"]) {
      await using peer = await rawPeer((socket) =>
        socket.write(answerText(200, { "content-type": type }, '{"ok":false}')),
      )
      expect(await deliver(fireTo(peer.url))).toEqual({ kind: "delivered", status: 200 })
    }
  })

  test("uses the status and the headers of the answer", async () => {
    const headers = { "retry-after": "7" }
    await using peer = await rawPeer((socket) => socket.write(answerText(503, headers, "busy")))
    expect(await deliver(fireTo(peer.url))).toEqual({
      kind: "retry",
      status: 503,
      error: "answered 503",
      answer: "busy",
      retryAfterMs: 7_000,
      isHostFailure: true,
    })
  })

  test("keeps the first 512 bytes of a failure, whatever they are", async () => {
    const bodies: ReadonlyArray<readonly [string, string | undefined]> = [
      ["é".repeat(300), "é".repeat(256)],
      [`x${"é".repeat(300)}`, `x${"é".repeat(255)}`],
      ["", undefined],
    ]
    for (const [body, kept] of bodies) {
      await using peer = await rawPeer((socket) => socket.write(answerText(500, {}, body)))
      expect(keptOf(await deliver(fireTo(peer.url)))).toBe(kept as string)
    }
    // Bytes that are not UTF-8 are replaced, and the replacements count.
    await using peer = await rawPeer((socket) => {
      socket.write("HTTP/1.1 410 X\r\ncontent-length: 600\r\n\r\n")
      socket.write(new Uint8Array(600).fill(0xff))
    })
    const kept = keptOf(await deliver(fireTo(peer.url))) ?? ""
    expect(kept).toBe("\ufffd".repeat(170))
    await using folded = await rawPeer((socket) =>
      socket.write(answerText(500, { "content-encoding": "gzip" }, "not to be shown")),
    )
    expect(await deliver(fireTo(folded.url))).not.toHaveProperty("answer")
  })

  test("never follows a redirect", async () => {
    await using elsewhere = await rawPeer((socket) => socket.write(answerText(200)))
    for (const status of [301, 302, 303, 307, 308]) {
      await using peer = await rawPeer((socket) =>
        socket.write(answerText(status, { location: elsewhere.url })),
      )
      expect(await deliver(fireTo(peer.url))).toMatchObject({ kind: "retry", status, isHostFailure: false })
    }
    expect(elsewhere.requests).toEqual([])
  })

  test("reuses one connection, whether or not the answer was read", async () => {
    const answers = [
      answerText(200, json, '{"ok":true}'),
      answerText(200, {}, "plain"),
      answerText(500, {}, "no"),
    ]
    let turn = 0
    await using peer = await rawPeer((socket) => socket.write(answers[turn++ % answers.length] ?? ""))
    const deliverer = makeWebhookDeliverer({ egress: openEgress })
    for (let n = 0; n < 9; n++) await Effect.runPromise(deliverer.deliver(fireTo(peer.url)))
    expect(peer.requests.length).toBe(9)
    expect(peer.connections()).toBe(1)
  })
})

describe("webhook secrets", () => {
  const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`

  test("of the timer's namespace sign the sent bytes", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(204)))
    const secretsOf = (namespace: string) => (namespace === "billing" ? [Buffer.alloc(32, 5)] : [])
    const fire = fireTo(peer.url, {}, '{"é":  1}')
    expect(await deliver(fire, { secretsOf })).toMatchObject({ kind: "delivered" })
    await deliver({ ...fire, namespace: "other" }, { secretsOf })
    const [signed = "", unsigned = ""] = peer.requests
    const body = signed.slice(signed.indexOf("\r\n\r\n") + 4)
    const headers = Object.fromEntries(
      [...signed.matchAll(/^(webhook-[a-z]+): (.*)\r$/gim)].map(([, name = "", value]) => [
        name.toLowerCase(),
        value,
      ]),
    ) as Record<string, string>
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({ payload: { é: 1 } })
    expect(unsigned).not.toContain("webhook-signature")
  })

  test("that cannot be opened stop the webhook, which is retried and says why", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(204)))
    expect(await deliver(fireTo(peer.url), { secretsOf: () => "sealed" })).toEqual({
      kind: "retry",
      isHostFailure: true,
      error: expect.stringContaining("TIMER_SECRET_KEY"),
    })
    expect(peer.connections()).toBe(0)
  })
})

describe("a target that does not end its answer", () => {
  const endless = (socket: Socket, chunk: string) => {
    const pump = () => {
      while (socket.writable && socket.write(chunk)) {}
    }
    socket.on("drain", pump)
    pump()
  }

  test("is read up to the limit if it sends JSON, and then cut off", async () => {
    await using peer = await rawPeer((socket) => {
      socket.write('HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n{"ok":true,"payload":"')
      endless(socket, "é".repeat(10_000))
    })
    const delivery = await deliver(fireTo(peer.url))
    expect(delivery).toMatchObject({ kind: "retry", status: 200, isHostFailure: false })
    expect(delivery).toMatchObject({ error: expect.stringContaining("more JSON than is read") })
    await peer.allClosed()
  })

  test("is cut off at once if it does not send JSON", async () => {
    await using peer = await rawPeer((socket) => {
      socket.write("HTTP/1.1 200 X\r\ncontent-type: text/plain\r\n\r\n")
      endless(socket, "x".repeat(10_000))
    })
    expect(await deliver(fireTo(peer.url))).toEqual({ kind: "delivered", status: 200 })
    await peer.allClosed()
  })

  test("is read up to 512 bytes if it is a failure, and then cut off", async () => {
    await using peer = await rawPeer((socket) => {
      socket.write("HTTP/1.1 410 X\r\ncontent-type: text/html\r\n\r\n")
      endless(socket, "x".repeat(10_000))
    })
    const delivery = await deliver(fireTo(peer.url))
    expect(delivery).toMatchObject({ kind: "dead", status: 410, answer: "x".repeat(512) })
    await peer.allClosed()
  })

  test("is a network error if its headers never end", async () => {
    await using peer = await rawPeer((socket) => {
      socket.write("HTTP/1.1 200 X\r\n")
      endless(socket, `a: ${"b".repeat(10_000)}\r\n`)
    })
    expect(await deliver(fireTo(peer.url))).toMatchObject({ kind: "retry", isHostFailure: true })
  })
})

describe("the time-out", () => {
  const tooSlow = (port: number) => ({
    kind: "retry",
    error: `no whole answer from 127.0.0.1:${port} within 50ms`,
    isHostFailure: true,
  })

  test("ends an attempt that gets no answer, and its connection", async () => {
    await using peer = await rawPeer(() => {})
    const delivery: unknown = await deliver(fireTo(peer.url, { timeoutMs: 50 }))
    expect(delivery).toEqual(tooSlow(peer.port))
    await peer.allClosed()
  })

  test("covers a whole slow answer, headers and body", async () => {
    const starts = [
      "HTTP/1.1 200 X\r\nx: ",
      'HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n{"ok": ',
    ]
    for (const start of starts) {
      await using peer = await rawPeer((socket) => {
        socket.write(start)
        const trickle = setInterval(() => socket.write(" "), 5)
        socket.on("close", () => clearInterval(trickle))
      })
      const delivery: unknown = await deliver(fireTo(peer.url, { timeoutMs: 50 }))
      expect(delivery).toEqual(tooSlow(peer.port))
      await peer.allClosed()
    }
  })

  test("does not hide a status: if the body of a failure hangs, the status counts", async () => {
    for (const start of ["HTTP/1.1 410 X\r\n\r\nbecau", "HTTP/1.1 410 X\r\ncontent-length: 9\r\n\r\n"]) {
      // The short time must be long enough for the status to arrive on a busy machine.
      for (const timeoutMs of [400, 60_000]) {
        await using peer = await rawPeer((socket) => socket.write(start))
        const delivery = await deliver(fireTo(peer.url, { timeoutMs }))
        expect(delivery).toMatchObject({ kind: "dead", reason: "refused", status: 410 })
        // The deliverer waits for the text only within the time of the attempt, and never for long.
        expect(keptOf(delivery)).toBe(timeoutMs > 400 && start.endsWith("becau") ? "becau" : undefined)
        await peer.allClosed()
      }
    }
  })

  test("ends with a failure that is cut off, and its status counts", async () => {
    await using peer = await rawPeer((socket) => {
      socket.end("HTTP/1.1 410 X\r\ncontent-length: 90\r\n\r\nbecau")
    })
    expect(await deliver(fireTo(peer.url))).toMatchObject({ kind: "dead", status: 410 })
  })

  test("covers the look-up of the name, and nothing is sent after it", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(200)))
    const lookup = Promise.withResolvers<ReadonlyArray<string>>()
    const egress = Result.getOrThrow(parseEgress("127.0.0.1"))
    const fire = fireTo(`http://slow.example:${peer.port}/`, { timeoutMs: 50 })
    const delivery = await deliver(fire, { egress, resolve: () => lookup.promise })
    expect(delivery).toMatchObject({ kind: "retry", isHostFailure: true })
    lookup.resolve(["127.0.0.1"])
    // Another exchange runs completely. In that time the first one could have sent its request.
    await deliver(fireTo(peer.url))
    expect(peer.requests.length).toBe(1)
  })
})

test("an interrupted attempt closes its connection", async () => {
  const arrived = Promise.withResolvers<void>()
  await using peer = await rawPeer(() => arrived.resolve())
  const deliverer = makeWebhookDeliverer({ egress: openEgress })
  const fiber = Effect.runFork(deliverer.deliver(fireTo(peer.url)))
  await arrived.promise
  await Effect.runPromise(Fiber.interrupt(fiber))
  await peer.allClosed()
})

describe("a failing network", () => {
  test("differs from an answer, and its error shows no secrets of the URL", async () => {
    await using closing = await rawPeer((socket) => socket.destroy())
    await using babbling = await rawPeer((socket) => socket.end("220 smtp ready\r\n\r\n"))
    await using short = await rawPeer((socket) =>
      socket.end('HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"ok"'),
    )
    const dead = await deadPort()
    for (const port of [closing.port, babbling.port, short.port, dead]) {
      const url = `http://user:secret@127.0.0.1:${port}/secret?key=secret`
      const delivery = await deliver(fireTo(url, { headers: { authorization: "secret" } }))
      expect(delivery).toMatchObject({ kind: "retry", isHostFailure: true })
      expect(JSON.stringify(delivery)).not.toContain("secret")
      expect(JSON.stringify(delivery)).toContain(`127.0.0.1:${port}`)
    }
  })

  test("includes a name that does not resolve", async () => {
    const egress = Result.getOrThrow(parseEgress("public"))
    const notFound: Resolve = () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" }))
    const noAddress: Resolve = () => Promise.resolve([])
    for (const resolve of [notFound, noAddress]) {
      expect(await deliver(fireTo("https://nowhere.example/x"), { egress, resolve })).toEqual({
        kind: "retry",
        error: "host not found: nowhere.example:443",
        isHostFailure: true,
      })
    }
  })

  test("is described in at most 200 characters", async () => {
    const egress = Result.getOrThrow(parseEgress("public"))
    const host = Array.from({ length: 4 }, () => "a".repeat(60)).join(".")
    const delivery = await deliver(fireTo(`http://${host}/`), { egress, resolve: () => Promise.reject(1) })
    expect(delivery.kind === "retry" ? delivery.error.length : 0).toBe(200)
  })
})

describe("the egress rules", () => {
  const publicOnly = Result.getOrThrow(parseEgress("public"))
  const noLookup: Resolve = (host) => Promise.reject(new Error(`looked up ${host}`))

  const refused = async (url: string, address: string, resolve: Resolve = noLookup) => {
    const delivery = await deliver(fireTo(url), { egress: publicOnly, resolve })
    expect(delivery).toMatchObject({ kind: "egressRefused" })
    const error = delivery.kind === "egressRefused" ? delivery.detail : ""
    expect(error).toContain("TIMER_EGRESS")
    expect(error).toEndWith(` ${address}`)
  }

  test("refuse loopback addresses in every spelling, without a look-up or a connection", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(200)))
    const spellings = [
      "127.0.0.1",
      "127.1",
      "2130706433",
      "0x7f000001",
      "0x7f.1",
      "0177.0.0.1",
      "127.0.0.1.",
      "①②⑦.0.0.1",
    ]
    for (const spelling of spellings) await refused(`http://${spelling}:${peer.port}/`, "127.0.0.1")
    await refused(`http://0:${peer.port}/`, "0.0.0.0")
    await refused(`http://[::1]:${peer.port}/`, "::1")
    await refused(`http://[::]:${peer.port}/`, "::")
    expect(peer.connections()).toBe(0)
  })

  test("refuse IPv4-mapped and translated addresses of internal networks", async () => {
    await refused("http://[::ffff:127.0.0.1]/", "127.0.0.1")
    await refused("http://[::ffff:a9fe:a9fe]/", "169.254.169.254")
    await refused("http://[0:0:0:0:0:FFFF:10.0.0.1]/", "10.0.0.1")
    await refused("http://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1")
    await refused("http://[2002:7f00:1::]/", "2002:7f00:1::")
  })

  test("refuse a name that resolves to a private address", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(200)))
    const refusedName = (name: string, ...addresses: ReadonlyArray<string>) =>
      // The text does not show the address that the lookup found.
      refused(`http://${name}:${peer.port}/`, `the address of ${name}`, async () => addresses)
    await refusedName("rebind.example", "127.0.0.1", "::1")
    await refusedName("localhost", "::ffff:127.0.0.1")
    await refusedName("zone.example", "fe80::1%eth0")
    expect(peer.connections()).toBe(0)
  })

  test("look a name up once for each attempt, and connect to that address", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(200)))
    // The name resolves to an allowed address first and to an internal one later.
    const answers = [["127.0.0.1"], ["127.0.0.2"]]
    let lookups = 0
    const resolve: Resolve = async () => answers[Math.min(lookups++, 1)] ?? []
    const egress = Result.getOrThrow(parseEgress("127.0.0.1"))
    const fire = fireTo(`http://rebind.example:${peer.port}/`)
    expect(await deliver(fire, { egress, resolve })).toEqual({ kind: "delivered", status: 200 })
    expect(lookups).toBe(1)
    expect(peer.requests[0]?.toLowerCase()).toContain(`\r\nhost: rebind.example:${peer.port}\r\n`)
    expect(await deliver(fire, { egress, resolve })).toMatchObject({ kind: "egressRefused" })
    expect(lookups).toBe(2)
    expect(peer.requests.length).toBe(1)
  })

  test("connect only to the allowed addresses of a name, and try the next if one refuses", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(200)))
    const egress = Result.getOrThrow(parseEgress("127.0.0.1,127.0.0.9"))
    const resolve: Resolve = async () => ["10.0.0.1", "127.0.0.9", "127.0.0.1"]
    const delivery = await deliver(fireTo(`http://many.example:${peer.port}/`), { egress, resolve })
    expect(delivery).toEqual({ kind: "delivered", status: 200 })
  })

  test("are not used under open", async () => {
    await using peer = await rawPeer((socket) => socket.write(answerText(200)))
    expect(await deliver(fireTo(peer.url), { resolve: noLookup })).toMatchObject({ kind: "delivered" })
  })
})

describe("a target that is not an HTTP URL", () => {
  test("is dead, and its payload is not read", async () => {
    for (const url of [
      "file:///etc/passwd",
      "data:,x",
      "s3://bucket/key",
      "ftp://example.com/",
      "nonsense",
    ]) {
      expect(await deliver(fireTo(url))).toMatchObject({ kind: "dead", reason: "invalidTarget" })
    }
  })
})

test("hostOf gives host and port, in one spelling", () => {
  const { hostOf } = makeWebhookDeliverer({ egress: openEgress })
  const of = (url: string) => hostOf(fireTo(url).target)
  expect(of("https://API.Example.com/a")).toBe("api.example.com:443")
  expect(of("http://api.example.com/b")).toBe("api.example.com:80")
  expect(of("http://0x7f.1:8080/")).toBe("127.0.0.1:8080")
  expect(of("http://[::1]:8080/")).toBe("[::1]:8080")
})
