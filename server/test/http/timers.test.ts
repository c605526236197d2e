// Every answer that the contract documents, through the real listener and the real engine.
import { describe, expect, test } from "bun:test"
import { Deferred, Effect } from "effect"
import { NoOwner, TimerUnstorable, TooManyWrites } from "../../src/engine/front/RefusedWrite.ts"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { StoreError } from "../../src/ports/TimerStore.ts"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const key = { namespace: "billing", timerId: "invoice-1" }
const hook = "https://example.com/hook"
const later = "2031-01-01T00:00:00.000Z"
const pending = { ...key, executeAt: later, callbackUrl: hook }

/** Asks until the engine has brought the timer into this state. */
const untilState = async ({ call }: RunningService, state: string) => {
  for (let asked = 0; asked < 5_000; asked++) {
    const { timer } = succeeded("get", await call("get", key))
    if (timer.state === state) return timer
  }
  throw new Error(`the timer did not become ${state}`)
}

describe("create", () => {
  test("answers with the whole timer, with defaults, without the payload", () =>
    withService({}, async ({ call }) => {
      const { result, timer } = succeeded(
        "create",
        await call("create", {
          ...pending,
          payload: { a: 1 },
          expireAfter: "PT90S",
          correlationId: "order-1",
        }),
      )
      expect(result).toBe("created")
      expect(timer).toMatchObject({
        ...key,
        state: "pending",
        executeAt: Date.parse(later),
        fireAt: Date.parse(later),
        attempts: 0,
        target: { type: "webhook", url: hook, method: "POST", timeoutMs: 15_000, body: "envelope" },
        retryPolicy: {
          maxAttempts: 10,
          initialIntervalMs: 5_000,
          backoffMultiplier: 4,
          maxIntervalMs: 28_800_000,
          jitter: 0.2,
        },
        expireAfterMs: 90_000,
        correlationId: "order-1",
      })
      expect("payload" in timer).toBe(false)
    }))

  test("makes the ids that are omitted", () =>
    withService({}, async ({ call }) => {
      const { timerId: _, ...anonymous } = pending
      const { timer } = succeeded("create", await call("create", anonymous))
      const uuid = (version: number) =>
        new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
      expect([timer.timerId, timer.fireId, timer.correlationId]).toEqual([
        expect.stringMatching(uuid(7)),
        expect.stringMatching(uuid(7)),
        // Its form differs from that of ids that callers give.
        expect.stringMatching(uuid(8)),
      ])
    }))

  test("counts a delay from receipt", () =>
    withService({}, async ({ call }) => {
      const before = Date.now()
      const { timer } = succeeded("create", await call("create", { ...key, delay: "1h", callbackUrl: hook }))
      expect(timer.executeAt).toBeGreaterThanOrEqual(before + 3_600_000)
      expect(timer.executeAt).toBeLessThanOrEqual(Date.now() + 3_600_000)
    }))

  test("replaces, keeps or refuses a pending key as asked, and leaves an equal one unchanged", () =>
    withService({}, async ({ call }) => {
      const first = succeeded("create", await call("create", pending))
      expect(succeeded("create", await call("create", pending)).result).toBe("unchanged")
      const other = { ...pending, executeAt: "2032-01-01T00:00:00Z" }
      const kept = succeeded("create", await call("create", { ...other, onExisting: "keep" }))
      expect(kept).toEqual({ result: "unchanged", timer: first.timer })
      refused(await call("create", { ...other, onExisting: "fail" }), "timerExists")
      const replaced = succeeded("create", await call("create", other))
      expect(replaced.result).toBe("replaced")
      expect(replaced.timer.revision).toBeGreaterThan(first.timer.revision)
      expect(replaced.timer.fireId).not.toBe(first.timer.fireId)
      expect(replaced.timer.createdAt).toBe(first.timer.createdAt)
    }))

  test("answers a repeat of a finished life with that life", () =>
    withService({}, async (running) => {
      const due = { ...key, executeAt: "2020-01-01T00:00:00Z", callbackUrl: hook }
      succeeded("create", await running.call("create", due))
      await untilState(running, "delivered")
      const { result, timer } = succeeded("create", await running.call("create", due))
      expect({ result, state: timer.state }).toEqual({ result: "alreadyFinished", state: "delivered" })
    }))

  test("takes an instant before the epoch as due at once", () =>
    withService({}, async (running) => {
      const ancient = { ...key, executeAt: "0001-01-01T00:00:00Z", callbackUrl: hook }
      succeeded("create", await running.call("create", ancient))
      expect((await untilState(running, "delivered")).executeAt).toBe(0)
    }))

  test("warns about an executeAt in the past, if it arms a timer with it", () =>
    withService({ clockStartMs: Date.UTC(2030, 0, 1) }, async ({ call }) => {
      const create = async (timerId: string, executeAt: string, more = {}) =>
        succeeded("create", await call("create", { ...key, timerId, executeAt, callbackUrl: hook, ...more }))
      const warnings = ["executeAt is 3h in the past: the timer is due at once"]
      const past = "2029-12-31T21:00:00Z"
      expect(await create("a", past)).toMatchObject({ result: "created", warnings })
      // At most the two largest units are shown.
      for (const [timerId, executeAt, shown] of [
        ["days", "2029-12-28T21:42:42.5Z", "3d2h"],
        ["hours", "2029-12-31T21:42:42.5Z", "2h17m"],
        ["minutes", "2029-12-31T23:42:42.5Z", "17m17s"],
        ["whole", "2029-12-30T23:59:00Z", "1d"],
      ] as const) {
        const { warnings: told } = (await create(timerId, executeAt)) as { warnings?: unknown }
        expect(told).toEqual([`executeAt is ${shown} in the past: the timer is due at once`])
      }
      // One second does not count as the past, because clocks differ and requests take time.
      expect(await create("b", "2029-12-31T23:59:59Z")).not.toHaveProperty("warnings")
      expect(await create("c", later)).not.toHaveProperty("warnings")
      expect(await create("c", past, { onExisting: "keep" })).not.toHaveProperty("warnings")
      const moved = succeeded("update", await call("update", { ...key, timerId: "c", executeAt: past }))
      expect(moved).toMatchObject({ warnings })
      const { results } = succeeded(
        "createMany",
        await call("createMany", {
          timers: [
            { ...key, timerId: "d", executeAt: past, callbackUrl: hook },
            { ...key, timerId: "e", executeAt: later, callbackUrl: hook },
          ],
        }),
      )
      expect(results).toMatchObject([{ result: "created", warnings }, { result: "created" }])
      expect(results[1]).not.toHaveProperty("warnings")
    }))

  test("has no warning for a safe repeat, which armed nothing", () =>
    withService({}, async (running) => {
      const past = { ...key, executeAt: "2020-01-01T00:00:00Z", callbackUrl: hook }
      expect(succeeded("create", await running.call("create", past)).warnings).toHaveLength(1)
      const { latenessMs = Number.NaN } = await untilState(running, "delivered")
      // The timer was overdue when it was created. The lateness does not count the time before that.
      expect(latenessMs).toBeLessThan(60_000)
      const { result, warnings } = succeeded("create", await running.call("create", past))
      expect({ result, warnings }).toEqual({ result: "alreadyFinished", warnings: undefined })
      const many = succeeded("createMany", await running.call("createMany", { timers: [past] }))
      expect(many.results).toEqual([expect.not.objectContaining({ warnings: expect.anything() })])
    }))

  test("refuses a target that this process cannot deliver to, by name", () =>
    withService({}, async ({ call }) => {
      const problem = refused(
        await call("create", { ...key, executeAt: later, target: { type: "event" } }),
        "invalidRequest",
      )
      expect(pointersOf(problem)).toEqual(["/target/type"])
      expect(problem.detail).toContain("webhook")
    }))

  test("shows every option of a webhook target", () =>
    withService({}, async ({ call }) => {
      const target = {
        type: "webhook",
        url: hook,
        method: "PUT",
        headers: { "x-token": "t" },
        timeout: "PT2S",
        body: "payload",
      }
      const retryPolicy = { maxAttempts: 3, initialInterval: "1s", maxInterval: "10s", maxDuration: "1d" }
      const { timer } = succeeded(
        "create",
        await call("create", { ...key, executeAt: later, target, retryPolicy }),
      )
      const { timeout: _, ...shown } = target
      expect(timer.target).toEqual({ ...shown, timeoutMs: 2_000 } as typeof timer.target)
      expect(timer.retryPolicy).toMatchObject({ maxAttempts: 3, maxDurationMs: 86_400_000 })
    }))
})

describe("createMany", () => {
  test("answers each item in its place, and a bad item does not affect the rest", () =>
    withService({}, async ({ call, pendingIn }) => {
      const item = (timerId: string, more = {}) => ({ ...pending, timerId, ...more })
      const { results } = succeeded(
        "createMany",
        await call("createMany", {
          timers: [
            item("a", { payload: 1 }),
            item("b", { executeAt: "tomorrow" }),
            "nonsense",
            item("c", { target: { type: "event" }, callbackUrl: undefined }),
            item("a", { payload: 2 }),
            item("a", { payload: 3, onExisting: "fail" }),
          ],
        }),
      )
      expect(results.map((one) => ("problem" in one ? one.problem.code : one.result))).toEqual([
        "created",
        "invalidRequest",
        "invalidRequest",
        "invalidRequest",
        "replaced",
        "timerExists",
      ])
      const pointers = results.flatMap((one) => ("problem" in one ? pointersOf(one.problem) : []))
      expect(pointers).toEqual(["/timers/1/executeAt", "/timers/2", "/timers/3/target/type"])
      expect(await pendingIn("billing")).toBe(1)
      expect((await call("get", { ...key, timerId: "a" })).json.timer.payload).toBe(2)
    }))
})

describe("get", () => {
  test("answers with the payload as it was sent, byte for byte", () =>
    withService({}, async ({ call }) => {
      const payload = '{ "b":1.0,\t"a" : [1e400, 12345678901234567890],"a":"\\u0041é\\ud800" }'
      const body = `{"payload" : "first",${JSON.stringify(pending).slice(1, -1)}, "p\\u0061yload":${payload}}`
      succeeded("create", await call("create", body))
      expect((await call("get", key)).text).toContain(`"payload":${payload},"correlationId"`)
    }))

  test("finds nothing under an unused key, or under a key of another namespace", () =>
    withService({}, async ({ call }) => {
      await call("create", pending)
      refused(await call("get", { ...key, timerId: "other" }), "timerNotFound")
      refused(await call("get", { ...key, namespace: "other" }), "timerNotFound")
    }))

  test("shows how a finished life ended, and its last attempt", () =>
    withService(
      {
        deliver: () =>
          Effect.succeed<Delivery>({ kind: "dead", reason: "refused", error: "gone", status: 410 }),
      },
      async (running) => {
        await running.call("create", { ...key, delay: "0s", callbackUrl: hook, payload: [1] })
        const timer = await untilState(running, "dead")
        expect(timer).toMatchObject({
          attempts: 1,
          payload: [1],
          lastAttempt: { status: 410, error: "gone" },
          attemptLog: [{ status: 410, error: "gone" }],
        })
        expect(timer.finishedAt).toBeGreaterThanOrEqual(timer.executeAt)
        expect("fireAt" in timer).toBe(false)
        expect((await running.call("get", key)).json.timer.reason).toBe("refused")
      },
    ))
})

describe("update", () => {
  test("changes named fields, keeps absent ones, and clears those that are null", () =>
    withService({}, async ({ call }) => {
      const before = succeeded(
        "create",
        await call("create", {
          ...pending,
          payload: { a: 1 },
          expireAfter: "1h",
          retryPolicy: { maxAttempts: 2 },
        }),
      ).timer
      const moved = succeeded(
        "update",
        await call("update", { ...key, executeAt: "2033-01-01T00:00:00Z" }),
      ).timer
      expect(moved).toMatchObject({
        executeAt: Date.parse("2033-01-01T00:00:00Z"),
        expireAfterMs: 3_600_000,
        retryPolicy: before.retryPolicy,
        createdAt: before.createdAt,
      })
      expect((await call("get", key)).json.timer.payload).toEqual({ a: 1 })
      await call("update", { ...key, payload: null, expireAfter: null, retryPolicy: null })
      const cleared = succeeded("get", await call("get", key)).timer
      expect(["payload" in cleared, "expireAfterMs" in cleared]).toEqual([false, false])
      expect(cleared.retryPolicy).toMatchObject({ maxAttempts: 10 })
      const other = { callbackUrl: `${hook}/2`, payload: [2], correlationId: "c-2" }
      await call("update", { ...key, ...other })
      expect(succeeded("get", await call("get", key)).timer).toMatchObject({
        payload: [2],
        correlationId: "c-2",
        target: { type: "webhook", url: `${hook}/2` },
      })
    }))

  test("is carried out only under the revision that it names", () =>
    withService({}, async ({ call }) => {
      const { revision } = succeeded("create", await call("create", pending)).timer
      const change = { ...key, delay: "1h" }
      const problem = refused(
        await call("update", { ...change, ifRevision: revision + 1 }),
        "revisionMismatch",
      )
      expect(problem.currentRevision).toBe(revision)
      succeeded("update", await call("update", { ...change, ifRevision: revision }))
    }))

  test("finds only pending timers", () =>
    withService({}, async ({ call }) => {
      refused(await call("update", { ...key, delay: "1h" }), "timerNotFound")
    }))
})

describe("a running attempt", () => {
  test("is shown, cannot be changed, and ends the timer when it is deleted", async () => {
    const arrived = Promise.withResolvers<void>()
    const answer = Deferred.makeUnsafe<Delivery>()
    const deliver = () => {
      arrived.resolve()
      return Deferred.await(answer)
    }
    await withService({ deliver }, async ({ call }) => {
      const command = { ...key, executeAt: new Date().toISOString(), callbackUrl: hook }
      await call("create", command)
      await arrived.promise
      const again = succeeded("create", await call("create", command))
      expect([again.result, again.timer.state]).toEqual(["unchanged", "inFlight"])
      const { timer } = succeeded("get", await call("get", key))
      expect([timer.state, "fireAt" in timer]).toEqual(["inFlight", false])
      expect(succeeded("list", await call("list", { namespace: key.namespace })).timers[0]?.state).toBe(
        "inFlight",
      )
      refused(await call("update", { ...key, delay: "1h" }), "timerInFlight")
      expect(succeeded("delete", await call("delete", key)).result).toBe("inFlight")
      Effect.runSync(Deferred.succeed(answer, { kind: "delivered" }))
    })
  })
})

describe("delete", () => {
  test("answers its result, also when there was nothing left to do", () =>
    withService({}, async (running) => {
      const { call } = running
      refused(await call("delete", key), "timerNotFound")
      const { revision } = succeeded("create", await call("create", pending)).timer
      refused(await call("delete", { ...key, ifRevision: revision + 1 }), "revisionMismatch")
      expect(succeeded("delete", await call("delete", { ...key, ifRevision: revision })).result).toBe(
        "cancelled",
      )
      expect(succeeded("delete", await call("delete", key)).result).toBe("alreadyCancelled")
      await call("create", { ...key, delay: "0s", callbackUrl: hook })
      await untilState(running, "delivered")
      expect(succeeded("delete", await call("delete", key)).result).toBe("alreadyDelivered")
    }))
})

describe("deleteMany", () => {
  test("cancels the timers that the filter selects, or all if asked", () =>
    withService({}, async ({ call, pendingIn }) => {
      for (const timerId of ["a-1", "a-2", "b-1"]) await call("create", { ...pending, timerId })
      const filter = { idPrefix: "a-" }
      expect(succeeded("deleteMany", await call("deleteMany", { namespace: "billing", filter }))).toEqual({
        cancelled: 2,
        inFlight: 0,
      })
      expect(await pendingIn("billing")).toBe(1)
      const all = succeeded("deleteMany", await call("deleteMany", { namespace: "billing", all: true }))
      expect(all.cancelled).toBe(1)
      expect(await pendingIn("billing")).toBe(0)
    }))

  test("says when there is more", () =>
    withService(
      { scheduler: { cancelMany: () => Effect.succeed({ cancelled: 500, inFlight: 1, more: true }) } },
      async ({ call }) => {
        const answer = succeeded("deleteMany", await call("deleteMany", { namespace: "billing", all: true }))
        expect(answer).toEqual({ cancelled: 500, inFlight: 1, more: true })
      },
    ))
})

describe("list and count", () => {
  const withTimers = (use: (running: RunningService) => Promise<void>) =>
    withService({}, async (running) => {
      for (const [index, timerId] of ["c", "a", "b"].entries()) {
        const executeAt = `2031-01-0${index + 1}T00:00:00Z`
        await running.call("create", {
          ...pending,
          timerId,
          executeAt,
          payload: index,
          correlationId: `c-${timerId}`,
          ...(timerId === "c" ? {} : { tags: ["some", timerId] }),
        })
      }
      await use(running)
    })
  const idsOf = (answer: { readonly timers: ReadonlyArray<{ readonly timerId: string }> }) =>
    answer.timers.map(({ timerId }) => timerId)
  const namespace = "billing"

  test("pending timers come by due time, in either order, in pages that join", () =>
    withTimers(async ({ call }) => {
      expect(idsOf(succeeded("list", await call("list", { namespace })))).toEqual(["c", "a", "b"])
      expect(idsOf(succeeded("list", await call("list", { namespace, order: "desc" })))).toEqual([
        "b",
        "a",
        "c",
      ])
      const first = succeeded("list", await call("list", { namespace, limit: 2 }))
      const second = succeeded("list", await call("list", { namespace, limit: 2, cursor: first.nextCursor }))
      expect([...idsOf(first), ...idsOf(second), second.nextCursor]).toEqual(["c", "a", "b", undefined])
    }))

  test("filters and inclusions work", () =>
    withTimers(async ({ call }) => {
      const listed = async (filter: object) => succeeded("list", await call("list", { namespace, ...filter }))
      expect(idsOf(await listed({ from: "2031-01-02T00:00:00Z", until: "2031-01-03T00:00:00Z" }))).toEqual([
        "a",
      ])
      expect(idsOf(await listed({ correlationId: "c-b" }))).toEqual(["b"])
      expect(idsOf(await listed({ tag: "some" }))).toEqual(["a", "b"])
      expect((await listed({ tag: "b" })).timers).toMatchObject([{ timerId: "b", tags: ["some", "b"] }])
      expect(succeeded("count", await call("count", { namespace, tag: "some" })).count).toBe(2)
      const cancelled = succeeded("deleteMany", await call("deleteMany", { namespace, filter: { tag: "a" } }))
      expect(cancelled.cancelled).toBe(1)
      expect(idsOf(await listed({ tag: "some", state: "cancelled" }))).toEqual(["a"])
      await call("create", {
        ...pending,
        timerId: "a",
        executeAt: "2031-01-02T00:00:00Z",
        payload: 1,
        correlationId: "c-a",
      })
      expect(idsOf(await listed({ idPrefix: "c" }))).toEqual(["c"])
      expect((await listed({})).timers.some((timer) => "payload" in timer)).toBe(false)
      expect((await listed({ include: ["payload"] })).timers.map(({ payload }) => payload)).toEqual([0, 1, 2])
      expect(succeeded("count", await call("count", { namespace }))).toEqual({ count: 3, capped: false })
      expect(succeeded("count", await call("count", { namespace, idPrefix: "c" })).count).toBe(1)
    }))

  test("finished timers come latest first", () =>
    withTimers(async ({ call }) => {
      for (const timerId of ["a", "c", "b"]) await call("delete", { namespace, timerId })
      const cancelled = { namespace, state: "cancelled" }
      const latestFirst = idsOf(succeeded("list", await call("list", cancelled)))
      const earliestFirst = idsOf(succeeded("list", await call("list", { ...cancelled, order: "asc" })))
      expect(latestFirst).toEqual(["b", "c", "a"])
      expect(earliestFirst).toEqual(["a", "c", "b"])
      expect(succeeded("count", await call("count", cancelled)).count).toBe(3)
    }))

  test("a cursor that no page returned, or of another query, is refused", () =>
    withTimers(async ({ call }) => {
      const { nextCursor } = succeeded("list", await call("list", { namespace, limit: 1 }))
      for (const wrong of [{ cursor: "nonsense" }, { cursor: nextCursor, idPrefix: "a" }]) {
        const problem = refused(await call("list", { namespace, ...wrong }), "invalidRequest")
        expect(pointersOf(problem)).toEqual(["/cursor"])
      }
    }))
})

describe("refusals of the engine", () => {
  const refusing = (error: TooManyWrites | NoOwner | TimerUnstorable) => ({
    scheduler: {
      create: () => Effect.fail(error),
      createMany: (commands: ReadonlyArray<unknown>) => Effect.succeed(commands.map(() => error)),
    },
  })

  test("overload and a missing owner are 503 with a time to retry, in place for each of many", async () => {
    await withService(refusing(new TooManyWrites({ retryAfterMs: 1_500 })), async ({ call }) => {
      const problem = refused(await call("create", pending), "overloaded")
      expect(problem).toMatchObject({ retryAfterSeconds: 2, written: "no" })
      const { results } = succeeded("createMany", await call("createMany", { timers: [pending] }))
      expect(results).toMatchObject([{ problem: { code: "overloaded", status: 503, written: "no" } }])
    })
    const away = new NoOwner({ message: "moving", retryAfterMs: 0 })
    await withService(refusing(away), async ({ call }) => {
      const problem = refused(await call("create", pending), "ownerUnavailable")
      expect(problem).toMatchObject({ retryAfterSeconds: 1, written: "no" })
    })
    const lost = new NoOwner({ message: "moving", retryAfterMs: 0, mayBeDone: true })
    await withService(refusing(lost), async ({ call }) => {
      expect(refused(await call("create", pending), "ownerUnavailable").written).toBe("unknown")
      const { results } = succeeded("createMany", await call("createMany", { timers: [pending] }))
      expect(results).toMatchObject([{ problem: { code: "ownerUnavailable", written: "unknown" } }])
    })
  })

  test("a deleteMany that is refused halfway does not say that nothing was written", async () => {
    for (const error of [
      new TooManyWrites({ retryAfterMs: 1_000 }),
      new NoOwner({ message: "moving", retryAfterMs: 1_000 }),
    ]) {
      await withService({ scheduler: { cancelMany: () => Effect.fail(error) } }, async ({ call }) => {
        const answered = await call("deleteMany", { namespace: "billing", all: true })
        const { detail, written } = refused(
          answered,
          error._tag === "TooManyWrites" ? "overloaded" : "ownerUnavailable",
        )
        expect(written).toBe("unknown")
        expect(detail).not.toContain("Nothing")
        expect(detail).toContain("may have been cancelled")
      })
    }
  })

  test("a timer that can never be stored is a mistake of the caller", () =>
    withService(refusing(new TimerUnstorable({ reason: "is too large" })), async ({ call }) => {
      expect(refused(await call("create", pending), "invalidRequest").detail).toContain("is too large")
    }))

  test("a store failure is reported without the store's own words", async () => {
    const failing = (isFatal: boolean) => ({
      scheduler: { get: () => Effect.fail(new StoreError({ message: "/secret/path", isFatal })) },
    })
    await withService(failing(false), async ({ call }) => {
      const problem = refused(await call("get", key), "overloaded")
      expect(problem.detail).not.toContain("secret")
      expect(problem.written).toBe("no")
    })
    await withService(failing(true), async ({ call }) => {
      expect(refused(await call("get", key), "internal").detail).not.toContain("secret")
    })
  })

  const stuck = { create: () => Effect.never, get: () => Effect.never }

  test("if the store does not answer, the caller is told that the result is unknown", () =>
    withService({ answerTimeoutMs: 50, scheduler: stuck }, async ({ call }) => {
      const answered = await call("create", pending)
      const problem = refused(answered, "overloaded")
      expect(problem.detail).toContain("unknown whether")
      expect(problem.written).toBe("unknown")
      expect(answered.headers.get("retry-after")).toBe("5")
      // A call that only reads writes nothing, even if it is late.
      expect(refused(await call("get", key), "overloaded").written).toBe("no")
    }))

  test("a defect is 500 without its cause", () =>
    withService({ scheduler: { get: () => Effect.die(new Error("secret")) } }, async ({ call }) => {
      const answered = await call("get", key)
      refused(answered, "internal")
      expect(answered.text).not.toContain("secret")
    }))
})
