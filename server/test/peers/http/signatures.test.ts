// What the signature of a call between nodes protects: nobody can change a call, repeat it, or send it later.
import { describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import { Effect } from "effect"
import { hashInSlices } from "../../../src/peers/http/CallSignature.ts"
import { PeerError } from "../../../src/ports/Peers.ts"
import { samplePut } from "../../../testkit/timers.ts"
import { answerText, rawPeer } from "../../deliverers/webhook/peer.ts"
import { failure, farName, here, peerAt, secret, send, signedHeaders, withFar } from "./PeerRig.ts"

const textOf = (response: Response) => Effect.promise(() => response.text())

describe("the signature of a call", () => {
  test("covers every part that decides what the call does", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const changed: ReadonlyArray<Readonly<Record<string, string>>> = [
          { "punctual-wire": "2" },
          { "punctual-to": "another" },
          { "punctual-call": "other 1 1" },
          { "punctual-call": "test 2 2" },
        ]
        for (const headers of changed) {
          const response = yield* send(far, { path: "nudge", call: "test 1 1", headers })
          expect([response.status, yield* textOf(response)]).toEqual([
            401,
            expect.stringContaining("signature is wrong"),
          ])
        }
        const ofNudge = yield* Effect.promise(() => signedHeaders({ path: "nudge" }))
        expect((yield* send(far, { path: "lags", headers: ofNudge })).status).toBe(401)
        const get = yield* Effect.promise(() => signedHeaders({ path: "nudge", method: "GET" }))
        expect((yield* send(far, { path: "nudge", headers: get })).status).toBe(401)
        const { "punctual-signature": header = "" } = yield* Effect.promise(() =>
          signedHeaders({ path: "nudge", call: "test 3 3" }),
        )
        const [time = "", hash, mac] = header.split(" ")
        const later = { "punctual-signature": [Number(time) + 1, hash, mac].join(" ") }
        expect((yield* send(far, { path: "nudge", call: "test 3 3", headers: later })).status).toBe(401)
        expect(far.nudges).toBe(0)
      }),
    ))

  test("covers the body, also one that is hashed in slices", () =>
    withFar((far) =>
      Effect.gen(function* () {
        for (const body of ["{}", `{"a":"${"x".repeat(1024 * 1024)}"}`]) {
          const headers = yield* Effect.promise(() => signedHeaders({ path: "nudge", body: `${body} ` }))
          const response = yield* send(far, { path: "nudge", body, headers })
          expect([response.status, yield* textOf(response)]).toEqual([401, expect.stringContaining("body")])
          expect((yield* send(far, { path: "nudge", body })).status).toBe(200)
        }
        expect(far.nudges).toBe(2)
      }),
    ))

  test("is made with a key of its own, so the secret is in no header of a call", async () => {
    const heads: Array<string> = []
    const server = createServer((request, response) => {
      heads.push(JSON.stringify(request.rawHeaders))
      response.end("{}")
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const url = typeof address === "object" ? `http://127.0.0.1:${address?.port}` : ""
    await withFar((_, peers) => peers.nudge(peerAt(url)))
    server.closeAllConnections()
    server.close()
    expect(heads.length).toBe(1)
    expect(heads[0]).toContain("punctual-signature")
    expect(heads[0]).not.toContain(secret)
    expect(heads[0]?.toLowerCase()).not.toContain("authorization")
  })

  test("of a stranger is refused before the body is read", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const headers = yield* Effect.promise(() => signedHeaders({ path: "write", secret: "wrong" }))
        const endless = new ReadableStream({ pull: () => new Promise(() => {}) })
        const response = yield* Effect.promise(() =>
          fetch(`${far.url}/internal/v1/write`, { method: "POST", headers, body: endless }),
        )
        expect(response.status).toBe(401)
      }),
    ))
})

describe("the time of a signature", () => {
  const nowMs = Date.UTC(2030, 0, 1)
  const longAgo = { nowMs: () => nowMs, uptimeMs: () => 3_600_000 }

  test("may differ from the receiver's clock by a minute, and the refusal shows both times", () =>
    withFar(
      (far) =>
        Effect.gen(function* () {
          for (const skewMs of [-60_000, 0, 60_000]) {
            expect((yield* send(far, { path: "nudge", signedAtMs: nowMs + skewMs })).status).toBe(200)
          }
          for (const skewMs of [-60_001, 60_001]) {
            const signedAtMs = nowMs + skewMs
            const response = yield* send(far, { path: "nudge", signedAtMs })
            const text = yield* textOf(response)
            expect(response.status).toBe(401)
            expect(text).toContain("refused")
            expect(text).toContain(new Date(nowMs).toISOString())
            expect(text).toContain(new Date(signedAtMs).toISOString())
            expect(text).toContain("NTP")
          }
          expect((yield* send(far, { path: "nudge", signedAtMs: 999_999_999_999_999 })).status).toBe(401)
          expect(far.nudges).toBe(3)
        }),
      longAgo,
    ))

  test("tells the caller which clocks differ, and that the call certainly did nothing", () =>
    withFar(
      (far, peers) =>
        Effect.gen(function* () {
          const error = yield* failure(peers.write(far.peer, [samplePut()]))
          expect(error.isUndelivered).toBe(true)
          expect(error.message).toContain("2030-01-01T00:00:00.000Z")
          expect(error.message).toContain("2030-01-01T00:02:00.000Z")
          expect(far.taken).toEqual([])
        }),
      longAgo,
      here(5_000, secret, { nowMs: () => nowMs + 120_000 }),
    ))

  test("is not before the start of the receiver, which does not know the calls from then", () =>
    withFar(
      (far) =>
        Effect.gen(function* () {
          const response = yield* send(far, { path: "nudge", signedAtMs: nowMs - 2_000 })
          expect([response.status, yield* textOf(response)]).toEqual([
            401,
            expect.stringContaining("before this node started"),
          ])
          expect((yield* send(far, { path: "nudge", signedAtMs: nowMs - 500 })).status).toBe(200)
        }),
      { nowMs: () => nowMs, uptimeMs: () => 1_000 },
    ))
})

describe("a call that is sent again", () => {
  test("is not carried out again, in any order", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const recorded = yield* Effect.promise(() => signedHeaders({ path: "nudge", call: "caller 4 3" }))
        const again = () => send(far, { path: "nudge", headers: recorded })
        expect((yield* again()).status).toBe(200)
        expect((yield* again()).status).toBe(409)
        expect((yield* send(far, { path: "nudge", call: "caller 3 3" })).status).toBe(200)
        expect((yield* again()).status).toBe(409)
        expect((yield* send(far, { path: "nudge", call: "caller 9 9" })).status).toBe(200)
        expect((yield* again()).status).toBe(409)
        expect(far.nudges).toBe(3)
      }),
    ))

  test("gets an answer that does not say that nothing was done, because the first copy may have been", () =>
    withFar((far, peers) =>
      Effect.gen(function* () {
        yield* send(far, { path: "nudge", call: "caller 4 3" })
        const response = yield* send(far, { path: "nudge", call: "caller 4 3" })
        const text = yield* textOf(response)
        expect(text).not.toContain("refused")
        const peer = yield* Effect.promise(() =>
          rawPeer((socket) => socket.end(answerText(response.status, {}, text))),
        )
        const error = yield* failure(peers.nudge({ node: farName, address: `http://127.0.0.1:${peer.port}` }))
        expect(error).toBeInstanceOf(PeerError)
        expect(error).toMatchObject({ isUndelivered: false, message: expect.stringContaining("before") })
        yield* Effect.promise(() => peer[Symbol.asyncDispose]())
      }),
    ))
})

describe("the hash of a body", () => {
  test("is made in slices, and other work runs in between", async () => {
    const bytes = new Uint8Array(8 * 1024 * 1024).fill(7)
    let pauses = 0
    const hash = await hashInSlices(bytes, async () => {
      pauses++
    })
    expect(hash).toEqual(new Bun.CryptoHasher("sha256").update(bytes).digest())
    expect(pauses).toBeGreaterThanOrEqual(31)
    expect(await hashInSlices(new Uint8Array(0))).toEqual(new Bun.CryptoHasher("sha256").digest())
  })
})
