// Two nodes that call each other over real loopback connections.
import { describe, expect, test } from "bun:test"
import { createServer } from "node:http"
import { Effect, Fiber } from "effect"
import { EventFeed } from "../../../src/engine/events/EventFeed.ts"
import { bodyBytesMax } from "../../../src/peers/http/peerRoutes.ts"
import { CensusCounts } from "../../../src/ports/CensusCounts.ts"
import { PeerActivity } from "../../../src/ports/PeerActivity.ts"
import { PeerEvents } from "../../../src/ports/PeerEvents.ts"
import { type CarriedAnswer, type CarriedItem, Peers } from "../../../src/ports/Peers.ts"
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
import { asked, failure, here, peerAt, secret, send, waits, withFar } from "./PeerRig.ts"

describe("the activity of another node", () => {
  test("comes as it was counted, and a malformed answer is refused", () => {
    const counted = {
      process: "p",
      records: [
        {
          atMs: 5,
          namespaces: { names: ["ü"], counts: [[1, 2, 3, 4, 5]] },
          lateness: [1, 2, 3, 4, 5, 6, 7, 8, 9],
          late: { namespaces: { names: [], counts: [] }, hosts: { names: [], counts: [] } },
        },
      ],
    }
    let answered = counted
    return withFar(
      ({ peer }) =>
        Effect.gen(function* () {
          const activity = yield* Effect.provide(PeerActivity, here())
          expect(yield* activity.of(peer)).toEqual(counted)
          answered = { ...counted, records: counted.records.map((record) => ({ ...record, lateness: [1] })) }
          const { message } = yield* Effect.flip(activity.of(peer))
          expect(message).toContain("the record 0 is malformed")
        }),
      { activity: () => answered },
    )
  })
})

describe("the events of another node", () => {
  test("come in pages, from where the caller stands, and a caller that is up to date waits for the next", () => {
    const feed = new EventFeed(() => 0)
    return withFar(
      ({ peer }) =>
        Effect.gen(function* () {
          const events = yield* Effect.provide(PeerEvents, here())
          const first = yield* events.after(peer, new Map([["another feed", 7]]))
          expect(first).toEqual({ feed: feed.id, exclusiveAfter: feed.ring.last, events: [] })
          const timers = Array.from({ length: 1_001 }, (_, place) => sampleTimer({ timerId: `ü${place}` }))
          for (const timer of timers) feed.started(timer, 5)
          const at = (number: number) => new Map([[feed.id, number]])
          const second = yield* events.after(peer, at(first.exclusiveAfter))
          expect(second.events).toHaveLength(1_000)
          const [event] = second.events
          const { namespace = "", timerId = "", fireId = "" } = timers[0] ?? {}
          expect(event).toEqual({ type: "started", namespace, timerId, fireId, at: 5, state: "inFlight" })
          const third = yield* events.after(peer, at(first.exclusiveAfter + 1_000))
          expect(third.events.map(({ timerId }) => timerId)).toEqual(["ü1000"])
          const waiting = yield* Effect.forkChild(events.after(peer, at(feed.ring.last)))
          yield* Effect.yieldNow
          feed.answered(cancelOf(sampleTimer({ timerId: "late" })), { result: "cancelled" }, undefined)
          const { events: late } = yield* Fiber.join(waiting)
          expect(late).toMatchObject([{ type: "cancelled", timerId: "late" }])
          expect(late[0]).not.toHaveProperty("fireId")
        }),
      { events: feed },
    )
  })
})

/** In how many turns of the event loop these calls are encoded, if all of them begin in the same turn. */
const turnsOfEncoding = async (calls: number, payloadBytes: number): Promise<number> => {
  let turn = 0
  const count = () => {
    turn++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const encodedIn = new Map<number, number>()
  const payload = new Uint8Array(payloadBytes)
  const call = (index: number): ReadonlyArray<CarriedItem> => {
    const item = samplePut({ payload })
    // Encoding reads the timer last.
    Object.defineProperty(item.timer, "payload", {
      enumerable: true,
      get: () => {
        encodedIn.set(index, turn)
        return payload
      },
    })
    return [item]
  }
  const indexes = Array.from({ length: calls }, (_, index) => index)
  await withFar((far, peers) => {
    // What the far node answers must not read the timers of this one.
    far.answer = (items) => Effect.succeed(items.map(() => ({ kind: "notOwner" })))
    return Effect.forEach(indexes, (index) => peers.write(far.peer, call(index)), {
      concurrency: "unbounded",
      discard: true,
    })
  })
  clearImmediate(counting)
  expect(encodedIn.size).toBe(calls)
  return new Set(encodedIn.values()).size
}

describe("calls that begin in one turn", () => {
  test("are encoded in turns of their own if they are large, because each takes milliseconds", async () => {
    expect(await turnsOfEncoding(4, 256 * 1024)).toBe(4)
  })

  test("are encoded at once if they are small", async () => {
    expect(await turnsOfEncoding(4, 1024)).toBe(1)
  })
})

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

  test("returns what the peer counts, or nothing, and refuses questions of another form", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const census = yield* Effect.provide(CensusCounts, here())
        const span = { from: 0, until: 10, buckets: 3 }
        expect(yield* census.of(far.peer, { ...span, names: ["a", "b"] })).toEqual({
          counts: [2, 2, 2],
          asOfMs: 5,
          lacksSome: false,
        })
        expect(yield* census.of(far.peer, span)).toMatchObject({ counts: [0, 0, 0] })
        expect(yield* census.of(far.peer, { ...span, names: ["nothing"] })).toBeUndefined()
        for (const wrong of [
          { ...span, buckets: 501 },
          { ...span, buckets: 0 },
          { ...span, names: Array<string>(1_021).fill("n") },
          { ...span, names: ["n".repeat(600_000)] },
        ]) {
          expect(yield* failure(census.of(far.peer, wrong))).toMatchObject({ isUndelivered: true })
        }
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
        for (const path of ["write", "firing", "nudge", "lags", "census"]) {
          for (const wrong of ["wrong", "", `${secret}x`]) {
            expect((yield* send(far, { path, secret: wrong })).status).toBe(401)
          }
          for (const header of ["", "1 2 3", "x".repeat(200)]) {
            expect((yield* send(far, { path, headers: { "punctual-signature": header } })).status).toBe(401)
          }
        }
        const stranger = yield* Effect.provide(Peers, here(1_000, "wrong"))
        expect(yield* failure(stranger.write(far.peer, [samplePut()]))).toMatchObject({
          isUndelivered: true,
          message: expect.stringContaining("TIMER_CLUSTER_SECRET"),
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
          expect((yield* send(far, { path: "nudge", secret: "undefined" })).status).toBe(404)
          expect((yield* send(far, { path: "nudge", secret: "" })).status).toBe(404)
        }),
      { secret: undefined },
    ).then(() =>
      withFar((far) =>
        Effect.gen(function* () {
          expect((yield* send(far, { path: "elsewhere" })).status).toBe(404)
          const got = yield* send(far, { path: "nudge", method: "GET" })
          expect(got.status).toBe(405)
          expect(far.nudges).toBe(0)
        }),
      ),
    ))

  test("refuses another version, and says what to do", () =>
    withFar((far) =>
      Effect.gen(function* () {
        for (const version of ["2", "0", ""]) {
          const response = yield* send(far, { path: "nudge", version })
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
        expect((yield* send(far, { path: "nudge", to: "" })).status).toBe(421)
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
          const response = yield* send(far, { path: "write", body: text })
          const answer = yield* Effect.promise(() => response.text())
          expect([response.status, answer]).toEqual([400, expect.stringContaining(where)])
          expect(answer).toContain("refused")
        }
        expect((yield* send(far, { path: "firing", body: '{"timers":[1]}' })).status).toBe(400)
        expect(far.taken).toEqual([])
        const good = JSON.stringify({ items: [put], specs: [spec] })
        expect((yield* send(far, { path: "write", body: good })).status).toBe(200)
      }),
    ))

  test("reads only up to its limit", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const response = yield* send(far, { path: "write", body: `"${"x".repeat(bodyBytesMax)}"` })
        expect(response.status).toBe(413)
        expect(far.taken).toEqual([])
      }),
    ))

  test("does not carry out a call that its caller has given up, however late it comes", () =>
    withFar((far) =>
      Effect.gen(function* () {
        const call = (number: number, lowest: number, name = "caller") =>
          Effect.map(
            send(far, { path: "nudge", call: `${name} ${number} ${lowest}` }),
            ({ status }) => status,
          )
        expect(yield* call(5, 5)).toBe(200)
        // Sent before the other call, and its caller still waits.
        expect(yield* call(7, 6)).toBe(200)
        expect(yield* call(6, 6)).toBe(200)
        expect(yield* call(5, 5)).toBe(409)
        expect(yield* call(5, 5, "another")).toBe(200)
        expect(far.nudges).toBe(4)
        expect((yield* send(far, { path: "nudge", call: "" })).status).toBe(409)
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
      here(2_000),
    ))
})
