// A node that signs its calls beside a node of the release before, which sends the cluster's secret itself.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Peers } from "../../../src/ports/Peers.ts"
import { ShardLags } from "../../../src/ports/ShardLags.ts"
import { samplePut } from "../../../testkit/timers.ts"
import { UnsignedPeers } from "../../../testkit/unsigned/UnsignedPeers.ts"
import { answerText, rawPeer } from "../../deliverers/webhook/peer.ts"
import { asked, failure, farName, here, secret, send, type startFar, withFar } from "./PeerRig.ts"

const oldRelease = UnsignedPeers.layer({ secret, timeoutMs: 5_000 })

const all = (far: Effect.Success<ReturnType<typeof startFar>>, peer = far.peer) =>
  Effect.gen(function* () {
    const peers = yield* Peers
    const lags = yield* ShardLags
    expect(yield* peers.write(peer, [samplePut()])).toMatchObject([{ kind: "answered" }])
    expect(yield* peers.firing(peer, [asked])).toEqual([{}])
    expect(yield* lags.of(peer)).toHaveLength(1)
    yield* peers.nudge(peer)
    expect([far.taken.length, far.askedAbout.length, far.nudges]).toEqual([1, 1, 1])
  })

describe("a node that signs", () => {
  test("is answered by an old node, whose entry says that it does not sign", () =>
    withFar((far) => Effect.provide(all(far, { ...far.peer, lacksSignatures: true }), here()), {
      isUnsigned: true,
    }))

  test("is answered by a node that signs although its entry is still the old one", () =>
    withFar((far) => Effect.provide(all(far, { ...far.peer, lacksSignatures: true }), here())))

  test("answers an old node while there is one in the cluster, and then no longer", async () => {
    await withFar((far) => Effect.provide(all(far), oldRelease), { isSecretAccepted: () => true })
    await withFar((far) =>
      Effect.gen(function* () {
        const peers = yield* Effect.provide(Peers, oldRelease)
        const error = yield* failure(peers.write(far.peer, [samplePut()]))
        expect(error).toMatchObject({ isUndelivered: true, message: expect.stringContaining("not signed") })
        expect(far.taken).toEqual([])
      }),
    )
  })

  test("takes the bare secret only if it is right, and only if there is no signature", () =>
    withFar(
      (far) =>
        Effect.gen(function* () {
          const bare = (authorization: string) =>
            Effect.promise(() =>
              fetch(`${far.url}/internal/v1/nudge`, {
                method: "POST",
                headers: {
                  authorization,
                  "punctual-wire": "1",
                  "punctual-to": encodeURIComponent(farName),
                  "punctual-call": `${crypto.randomUUID()} 1 1`,
                },
                body: "{}",
              }),
            )
          for (const wrong of ["", "Bearer ", "Bearer wrong", secret, `Bearer ${secret}x`]) {
            expect((yield* bare(wrong)).status).toBe(401)
          }
          const authorization = `Bearer ${secret}`
          expect(
            (yield* send(far, { path: "nudge", secret: "wrong", headers: { authorization } })).status,
          ).toBe(401)
          expect(far.nudges).toBe(0)
          expect((yield* bare(authorization)).status).toBe(200)
        }),
      { isSecretAccepted: () => true },
    ))

  test("never sends the secret because of an answer, whatever the answer says", async () => {
    const heads: Array<string> = []
    await using attacker = await rawPeer((socket, head) => {
      heads.push(head)
      socket.end(answerText(401, {}, '{"refused":"the cluster\'s secret is missing or wrong"}'))
    })
    await withFar((_, peers) =>
      Effect.gen(function* () {
        const peer = { node: farName, address: `http://127.0.0.1:${attacker.port}` }
        for (let call = 0; call < 3; call++) {
          expect(yield* failure(peers.write(peer, [samplePut()]))).toMatchObject({ isUndelivered: true })
        }
      }),
    )
    expect(heads.length).toBeGreaterThanOrEqual(3)
    expect(heads.join("")).toContain("punctual-signature")
    expect(heads.join("")).not.toContain(secret)
  })
})
