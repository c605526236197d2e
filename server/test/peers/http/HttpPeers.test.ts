// Two nodes that call each other over real loopback connections.
import { describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import { Effect, type Scope } from "effect"
import type { FiringStatus } from "../../../src/domain/Waiting.ts"
import { listen } from "../../../src/http/listener/Listener.ts"
import { HttpPeers } from "../../../src/peers/http/HttpPeers.ts"
import { bodyBytesMax, makePeerRoutes, type PeerRoutesOptions } from "../../../src/peers/http/peerRoutes.ts"
import {
  type AskedTimer,
  type CarriedAnswer,
  type CarriedItem,
  type PeerError,
  type PeerNode,
  Peers,
} from "../../../src/ports/Peers.ts"
import { ShardLags } from "../../../src/ports/ShardLags.ts"
import {
  cancelOf,
  changeOf,
  discardOf,
  replayOf,
  samplePut,
  sampleTimer,
  scheduleOf,
} from "../../../testkit/timers.ts"
import { answerText, deadPort, rawPeer } from "../../deliverers/webhook/peer.ts"

const secret = "among ourselves"

interface Far {
  readonly url: string
  /** The node as other nodes know it. */
  readonly peer: PeerNode
  /** The items of each write call that it got. */
  readonly taken: Array<ReadonlyArray<CarriedItem>>
  /** The timers whose status it was asked for. */
  readonly askedAbout: Array<AskedTimer>
  nudges: number
  answer: (items: ReadonlyArray<CarriedItem>) => Effect.Effect<ReadonlyArray<CarriedAnswer>>
}

/** Names may contain characters that a header cannot. */
const farName = "fär 1"
const peerAt = (address: string): PeerNode => ({ node: farName, address })

const created = (item: CarriedItem): CarriedAnswer =>
  "timer" in item
    ? { kind: "answered", answer: { result: "created", timer: item.timer } }
    : { kind: "answered", answer: { result: "notFound" } }

const { namespace, uuid, updatedAt } = sampleTimer()
const asked: AskedTimer = {
  ...{ namespace, uuid, fireId: "a", fireAt: 5, updatedAt },
  ...{ targetType: "webhook", host: "hö.example:8443" },
}

const waits: FiringStatus = {
  waiting: { reason: "breaker", sinceMs: 12, detail: "hö.example failed." },
}

/** The other node. */
const startFar = (options: Partial<PeerRoutesOptions> = {}): Effect.Effect<Far, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const far = {
      taken: [] as Far["taken"],
      askedAbout: [] as Far["askedAbout"],
      nudges: 0,
      answer: (items: ReadonlyArray<CarriedItem>) => Effect.succeed(items.map(created)),
    }
    const handle = yield* makePeerRoutes({
      node: farName,
      scheduler: {
        accept: (items) =>
          Effect.suspend(() => {
            far.taken.push(items)
            return far.answer(items)
          }),
        firingHere: (timers) => {
          far.askedAbout.push(...timers)
          return timers.map(({ fireId }) => {
            if (fireId === "waits") return waits
            return fireId === "running" ? { inFlightSinceMs: 7 } : {}
          })
        },
      },
      nudge: Effect.sync(() => {
        far.nudges++
      }),
      lags: () => [{ shard: 3, epoch: 7, lagMs: 12 }],
      secret,
      ...options,
    })
    const { url } = yield* listen({ host: "127.0.0.1", port: 0, handle, onDefect: () => {} })
    return Object.assign(far, { url, peer: peerAt(url) })
  })

const here = (timeoutMs = 5_000, known = secret) => HttpPeers.layer({ secret: known, timeoutMs })

const withFar = (
  body: (far: Far, peers: Peers["Service"]) => Effect.Effect<void, unknown, Scope.Scope>,
  options: Partial<PeerRoutesOptions> = {},
  layer = here(),
): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      yield* body(yield* startFar(options), yield* Peers)
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

/** Fails the test if the call succeeds. */
const failure = <A>(call: Effect.Effect<A, PeerError>): Effect.Effect<PeerError> =>
  Effect.orDie(Effect.flip(call))

const post = (far: Far, path: string, headers: Record<string, string>, body = "{}") =>
  Effect.promise(() =>
    fetch(`${far.url}/internal/v1/${path}`, { method: "POST", headers: { ...valid, ...headers }, body }),
  )

let calls = 0
const valid = {
  authorization: `Bearer ${secret}`,
  "punctual-wire": "1",
  "punctual-to": encodeURIComponent(farName),
  get "punctual-call"() {
    return `test-${++calls} 1 1`
  },
}

describe("a call", () => {
  test("sends items unchanged and returns their answers, in order", () =>
    withFar((far, peers) =>
      Effect.gen(function* () {
        const payload = Uint8Array.from({ length: 256 }, (_, byte) => byte)
        const put = samplePut({ timerId: 'ü"\\€', payload }, "keep")
        const telling = samplePut({
          traceparent: "00-a-b-01",
          spec: {
            ...sampleTimer().spec,
            retryPolicy: { ...sampleTimer().spec.retryPolicy, waitsMs: [5, 6] },
            expireAfterMs: 5,
            onExpire: "drop",
            onDead: { type: "event" },
            death: {
              timerId: "a",
              fireId: "f",
              revision: 1,
              executeAt: 2,
              reason: "expired",
              attempts: 0,
            },
          },
        })
        const sent: ReadonlyArray<CarriedItem> = [
          put,
          samplePut({ payload: new Uint8Array(0) }),
          scheduleOf(
            sampleTimer({ spec: { ...sampleTimer().spec, target: { type: "event" }, expireAfterMs: 5 } }),
          ),
          scheduleOf(sampleTimer({ payload }), { setsRetryPolicy: true }),
          scheduleOf(sampleTimer(), { cancels: true, madeCorrelationId: true }),
          changeOf(put.timer, { payload: null, expireAfterMs: null, executeAt: 7 }, { ifRevision: 3 }),
          changeOf(put.timer, { payload, correlationId: "c", target: put.timer.spec.target }),
          cancelOf(put.timer),
          cancelOf(put.timer),
          { ...put, isRepeat: true },
          changeOf(put.timer, {}, { isRepeat: true }),
          cancelOf(put.timer, { isRepeat: true }),
          replayOf(put.timer),
          replayOf(put.timer, { isRepeat: true }),
          discardOf(put.timer),
          discardOf(put.timer, { isRepeat: true }),
          telling,
          changeOf(put.timer, { expireAfterMs: 5, onExpire: "drop", onDead: { type: "event" } }),
          changeOf(put.timer, { onDead: null }),
        ]
        const life = {
          ...put.timer,
          state: "dead",
          finishedAt: 9,
          reason: "expired",
          endedBy: "x",
          latenessMs: 1.5,
        } as const
        const { fireAt: _, updatedAt: __, payload: ___, ...finished } = life
        const changed = sampleTimer({
          attempts: 1,
          attemptLog: [
            { at: 1, durationMs: 2, error: "e" },
            { at: 4, durationMs: 3, status: 500, error: "answered 500" },
          ],
          firstAttemptAt: 1,
        })
        const answers: ReadonlyArray<CarriedAnswer> = [
          { kind: "answered", answer: { result: "created", timer: put.timer } },
          { kind: "answered", answer: { result: "alreadyFinished", life: finished } },
          { kind: "answered", answer: { result: "ignored", because: "outdated" } },
          { kind: "answered", answer: { result: "moved", timer: changed } },
          { kind: "answered", answer: { result: "cancelled" } },
          { kind: "answered", answer: { result: "changed", timer: changed } },
          { kind: "answered", answer: { result: "revisionMismatch", revision: 4 } },
          { kind: "answered", answer: { result: "unstorable", reason: "too large" } },
          { kind: "answered", answer: { result: "unstorable", reason: "it is cut", isUnreadable: true } },
          { kind: "answered", answer: { result: "unknown" } },
          { kind: "answered", answer: { result: "notFound" } },
          { kind: "answered", answer: { result: "cancelled" } },
          { kind: "answered", answer: { result: "replayed", timer: changed } },
          { kind: "answered", answer: { result: "alreadyReplayed" } },
          { kind: "answered", answer: { result: "skipped" } },
          { kind: "answered", answer: { result: "discarded" } },
          { kind: "answered", answer: { result: "created", timer: telling.timer } },
          { kind: "answered", answer: { result: "changed", timer: telling.timer } },
          { kind: "answered", answer: { result: "notFound" } },
        ]
        far.answer = () => Effect.succeed(answers)
        expect(yield* peers.write(far.peer, sent)).toEqual(answers)
        expect(far.taken).toEqual([sent])
        far.answer = () =>
          Effect.succeed([{ kind: "notOwner" }, { kind: "unknown" }, { kind: "overloaded", retryAfterMs: 5 }])
        expect(yield* peers.write(far.peer, sent.slice(0, 3))).toEqual([
          { kind: "notOwner" },
          { kind: "unknown" },
          { kind: "overloaded", retryAfterMs: 5 },
        ])
      }),
    ))

  test("is answered without payloads, however many large timers it has changed", () =>
    withFar((far, peers) =>
      Effect.gen(function* () {
        const payload = new Uint8Array(65_536)
        // The answers of receivers are also omitted: escaped, 20 answers of each timer are 60 KiB.
        const attemptLog = Array.from({ length: 20 }, (_, at) => ({
          at,
          durationMs: 1,
          answer: "\0".repeat(512),
        }))
        const timers = Array.from({ length: 500 }, () => sampleTimer({ payload, attemptLog }))
        const [first] = timers
        if (first === undefined) throw new Error("there is none")
        const { fireAt: _, updatedAt: __, ...life } = first
        far.answer = () =>
          Effect.succeed([
            ...timers.map(
              (timer): CarriedAnswer => ({ kind: "answered", answer: { result: "changed", timer } }),
            ),
            {
              kind: "answered",
              answer: { result: "alreadyFinished", life: { ...life, state: "dead", finishedAt: 9 } },
            },
          ])
        const sent = [...timers.map((timer) => changeOf(timer, { executeAt: 7 })), samplePut()]
        const answers = yield* peers.write(far.peer, sent)
        const told = answers.map((it) => (it.kind === "answered" ? it.answer : undefined))
        expect(told.map((answer) => answer?.result)).toEqual([
          ...timers.map(() => "changed" as const),
          "alreadyFinished",
        ])
        for (const answer of told) {
          if (answer !== undefined && "timer" in answer) expect(answer.timer).not.toHaveProperty("payload")
          if (answer !== undefined && "life" in answer) expect(answer.life).not.toHaveProperty("payload")
        }
      }),
    ))

  test("lets the owner say which attempts run", () =>
    withFar((far, peers) =>
      Effect.gen(function* () {
        yield* peers.write(far.peer, [cancelOf(sampleTimer(), { inFlight: "claimed" })])
        expect(far.taken[0]?.[0]).not.toHaveProperty("inFlight")
        const timers = ["running", "waits", "other"].map((fireId) => ({ ...asked, fireId }))
        const statuses = yield* peers.firing(far.peer, timers)
        expect(statuses).toEqual([{ inFlightSinceMs: 7 }, waits, {}])
        expect(far.askedAbout).toEqual(timers)
        yield* peers.nudge(far.peer)
        expect(far.nudges).toBe(1)
      }),
    ))

  test("returns the lag of the shards that the peer owns", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const lags = yield* Effect.provide(ShardLags, here())
        expect(yield* lags.of(far.peer)).toEqual([{ shard: 3, epoch: 7, lagMs: 12 }])
        const stranger = yield* Effect.provide(ShardLags, here(1_000, "wrong"))
        expect(yield* failure(stranger.of(far.peer))).toMatchObject({ isUndelivered: true })
      }),
    ))

  test("keeps equal specs as one object, however many timers have them", () =>
    withFar((far, peers) =>
      Effect.gen(function* () {
        yield* peers.write(far.peer, [samplePut(), samplePut()])
        const specs = new Set(far.taken[0]?.map((item) => ("timer" in item ? item.timer.spec : undefined)))
        expect(specs.size).toBe(1)
      }),
    ))
})

describe("a failure", () => {
  test("to connect certainly did nothing", () =>
    withFar((_, peers) =>
      Effect.gen(function* () {
        const dead = `http://127.0.0.1:${yield* Effect.promise(deadPort)}`
        expect(yield* failure(peers.write(peerAt(dead), [samplePut()]))).toMatchObject({
          isUndelivered: true,
        })
        expect(yield* failure(peers.nudge(peerAt("not an address")))).toMatchObject({ isUndelivered: true })
      }),
    ))

  test("to answer in time may have done it", () =>
    withFar(
      (far, peers) =>
        Effect.gen(function* () {
          far.answer = () => Effect.never
          const error = yield* failure(peers.write(far.peer, [samplePut()]))
          expect(error).toMatchObject({ isUndelivered: false })
          expect(error.message).toContain("50 ms")
          expect(far.taken.length).toBe(1)
        }),
      {},
      here(50),
    ))

  test("after the request was sent may have done it, for any error", () =>
    withFar((_, peers) =>
      Effect.gen(function* () {
        const answers: ReadonlyArray<string | undefined> = [
          undefined,
          answerText(502, {}, "bad gateway"),
          answerText(504),
          answerText(302, { location: "http://127.0.0.1:1/" }),
          answerText(200, {}, "not JSON"),
          answerText(200, {}, '{"answers":[],"specs":[]}'),
          answerText(200, {}, '{"answers":[{"kind":"answered","answer":{"result":"created"}}],"specs":[]}'),
        ]
        for (const answer of answers) {
          const peer = yield* Effect.promise(() =>
            rawPeer((socket) => {
              if (answer === undefined) socket.destroy()
              else socket.end(answer)
            }),
          )
          const url = `http://127.0.0.1:${peer.port}`
          expect(yield* failure(peers.write(peerAt(url), [samplePut()]))).toMatchObject({
            isUndelivered: false,
          })
          yield* Effect.promise(() => peer[Symbol.asyncDispose]())
        }
      }),
    ))

  test("inside the peer gives no answer that could be trusted", () =>
    withFar(
      (far, peers) =>
        Effect.gen(function* () {
          far.answer = () => Effect.never
          expect(yield* failure(peers.write(far.peer, [samplePut()]))).toMatchObject({ isUndelivered: false })
        }),
      { answerWithinMs: 20 },
    ))
})

describe("the receiving node", () => {
  test("answers only callers that know the secret, and does nothing for others", () =>
    withFar((far, peers) =>
      Effect.gen(function* () {
        for (const authorization of ["", "Bearer ", "Bearer wrong", secret, `Bearer ${secret}x`]) {
          for (const path of ["write", "firing", "nudge", "lags"]) {
            expect((yield* post(far, path, { authorization })).status).toBe(401)
          }
        }
        const stranger = yield* Effect.provide(Peers, here(1_000, "wrong"))
        expect(yield* failure(stranger.write(far.peer, [samplePut()]))).toMatchObject({
          isUndelivered: true,
          message: expect.stringContaining("secret"),
        })
        expect(far.taken).toEqual([])
        expect(far.nudges).toBe(0)
        yield* peers.nudge(far.peer)
        expect(far.nudges).toBe(1)
      }),
    ))

  test("does not exist without a secret, nor below other paths", () =>
    withFar(
      (far) =>
        Effect.gen(function* () {
          expect((yield* post(far, "nudge", { authorization: "Bearer undefined" })).status).toBe(404)
          expect((yield* post(far, "nudge", { authorization: "Bearer " })).status).toBe(404)
        }),
      { secret: undefined },
    ).then(() =>
      withFar((far) =>
        Effect.gen(function* () {
          expect((yield* post(far, "elsewhere", {})).status).toBe(404)
          const got = yield* Effect.promise(() => fetch(`${far.url}/internal/v1/nudge`, { headers: valid }))
          expect(got.status).toBe(405)
          expect(far.nudges).toBe(0)
        }),
      ),
    ))

  test("refuses another version, and says what to do", () =>
    withFar((far) =>
      Effect.gen(function* () {
        for (const version of ["2", "0", ""]) {
          const response = yield* post(far, "nudge", { "punctual-wire": version })
          expect(response.status).toBe(400)
          expect(yield* Effect.promise(() => response.text())).toContain("one release on all nodes")
        }
        expect(far.nudges).toBe(0)
      }),
    ))

  test("refuses a call for another node at its address, so the call certainly did nothing", () =>
    withFar((far, peers) =>
      Effect.gen(function* () {
        const gone = { ...far.peer, node: "one of another cluster" }
        const error = yield* failure(peers.write(gone, [samplePut()]))
        expect(error).toMatchObject({ isUndelivered: true, message: expect.stringContaining("another node") })
        expect(yield* failure(peers.nudge(gone))).toMatchObject({ isUndelivered: true })
        expect((yield* post(far, "nudge", { "punctual-to": "" })).status).toBe(421)
        expect([far.taken, far.nudges]).toEqual([[], 0])
      }),
    ))

  test("refuses a call that it does not understand, says where, and does nothing", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const timer = { ...sampleTimer(), spec: 0, uuid: undefined }
        const spec = sampleTimer().spec
        const put = { kind: "put", onExisting: "keep", madeCorrelationId: false, timer }
        const bad: ReadonlyArray<readonly [unknown, string]> = [
          ["", "JSON"],
          [{}, "/specs"],
          [{ items: [], specs: [], more: 1 }, "/more"],
          [{ items: [put, { kind: "outcome" }], specs: [spec] }, "/items/1"],
          [{ items: [put], specs: [] }, "spec 0"],
          [{ items: [{ ...put, timer: { ...timer, executeAt: 1.5 } }], specs: [spec] }, "executeAt"],
          [{ items: [{ ...put, timer: { ...timer, uuid: "0".repeat(32) } }], specs: [spec] }, "uuid"],
          [{ items: [{ ...put, timer: { ...timer, payload: "no base64!" } }], specs: [spec] }, "payload"],
          [{ items: [{ ...put, inFlight: "x" }], specs: [spec] }, "inFlight"],
          [{ items: Array.from({ length: 1_001 }, () => put), specs: [spec] }, "/items"],
        ]
        for (const [body, where] of bad) {
          const text = body === "" ? "{" : JSON.stringify(body)
          const response = yield* post(far, "write", {}, text)
          const answer = yield* Effect.promise(() => response.text())
          expect([response.status, answer]).toEqual([400, expect.stringContaining(where)])
          expect(answer).toContain("refused")
        }
        expect((yield* post(far, "firing", {}, '{"timers":[1]}')).status).toBe(400)
        expect(far.taken).toEqual([])
        expect((yield* post(far, "write", {}, JSON.stringify({ items: [put], specs: [spec] }))).status).toBe(
          200,
        )
      }),
    ))

  test("reads only up to its limit", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const response = yield* post(far, "write", {}, `"${"x".repeat(bodyBytesMax)}"`)
        expect(response.status).toBe(413)
        expect(far.taken).toEqual([])
      }),
    ))

  test("does not carry out a call that its caller has given up, however late it comes", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const call = (number: number, lowest: number, name = "caller") =>
          Effect.map(
            post(far, "nudge", { "punctual-call": `${name} ${number} ${lowest}` }),
            ({ status }) => status,
          )
        expect(yield* call(5, 5)).toBe(200)
        // Sent before the other call, and its caller still waits.
        expect(yield* call(7, 6)).toBe(200)
        expect(yield* call(6, 6)).toBe(200)
        expect(yield* call(5, 5)).toBe(409)
        expect(yield* call(5, 5, "another")).toBe(200)
        expect(far.nudges).toBe(4)
        expect((yield* post(far, "nudge", { "punctual-call": "" })).status).toBe(409)
      }),
    ))

  test("a call that was given up does not delay the next one", () =>
    withFar(
      (far, peers) =>
        Effect.gen(function* () {
          const heads: Array<string> = []
          const server = createServer((request, response) => {
            heads.push(String(request.headers["punctual-call"]).split(" ").slice(1).join(" "))
            if (heads.length > 1) response.end("{}")
          })
          yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
          const address = server.address()
          const url = typeof address === "object" ? `http://127.0.0.1:${address?.port}` : ""
          yield* failure(peers.nudge(peerAt(url)))
          yield* peers.nudge(peerAt(url))
          server.closeAllConnections()
          server.close()
          expect(heads).toEqual(["1 1", "2 2"])
          expect(far.nudges).toBe(0)
        }),
      {},
      here(100),
    ))
})
