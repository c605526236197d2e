// The typed client that is generated from the contract, against the real listener: every call once, and a failure with
// its own class.
import { expect, test } from "bun:test"
import { Namespace } from "@punctual/api/Namespace"
import { RevisionMismatch, TimerNotFound } from "@punctual/api/Problem"
import { PunctualApi } from "@punctual/api/PunctualApi"
import { TimerId } from "@punctual/api/TimerId"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { withService } from "./ServiceFixture.ts"

test("the generated client works with the service", () =>
  withService({}, ({ url }) =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { timers, cluster } = yield* HttpApiClient.make(PunctualApi, { baseUrl: url })
        const namespace = Namespace.make("client")
        const key = { namespace, timerId: TimerId.make("one") }
        const executeAt = Date.parse("2031-01-01T00:00:00Z")

        const created = yield* timers.create({
          payload: { ...key, executeAt, callbackUrl: "http://localhost/", payload: { a: [1] } },
        })
        expect(created.result).toBe("created")
        const many = yield* timers.createMany({
          payload: {
            timers: [{ namespace, timerId: "two", delay: "1h", callbackUrl: "http://localhost/" }, 7],
          },
        })
        expect(many.results.map((one) => ("problem" in one ? one.problem.code : one.result))).toEqual([
          "created",
          "invalidRequest",
        ])
        const { timer } = yield* timers.get({ payload: key })
        expect(timer).toMatchObject({ timerId: "one", executeAt, payload: { a: [1] } })
        const moved = yield* timers.update({ payload: { ...key, executeAt: executeAt + 1 } })
        expect(moved.timer.executeAt).toBe(executeAt + 1)
        const mismatch = yield* Effect.flip(timers.delete({ payload: { ...key, ifRevision: 1 } }))
        expect(mismatch).toBeInstanceOf(RevisionMismatch)
        const { count } = yield* timers.count({ payload: { namespace } })
        expect(count).toBe(2)
        const listed = yield* timers.list({ payload: { namespace, limit: 1 } })
        expect(listed.timers.length).toBe(1)
        expect((yield* timers.delete({ payload: key })).result).toBe("cancelled")
        expect((yield* timers.deleteMany({ payload: { namespace, all: true } })).cancelled).toBe(1)
        const seen = yield* cluster.cluster({ payload: {} })
        expect(seen.shards.map(({ owner }) => owner)).toEqual([seen.node, seen.node, seen.node, seen.node])
        const missing = yield* Effect.flip(timers.get({ payload: { ...key, timerId: TimerId.make("none") } }))
        expect(missing).toBeInstanceOf(TimerNotFound)
      }).pipe(Effect.provide(FetchHttpClient.layer)),
    ),
  ))
