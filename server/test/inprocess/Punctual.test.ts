// The promises to a program that has Punctual inside: the contract's words and refusals, deliveries to its own
// functions, a clock that it can move, and an end that leaves nothing running.
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import {
  type HandlerReply,
  Punctual,
  PunctualError,
  type PunctualOptions,
  type TimerFire,
} from "@punctual/server"
import { eventually } from "../../testkit/eventually.ts"
import { Receiver } from "../../testkit/Receiver.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const start = "2030-01-01T00:00:00.000Z"
const after = (hours: number) => new Date(Date.parse(start) + hours * 3_600_000)

const openManual = (more: Partial<PunctualOptions> = {}) =>
  Punctual.open({ store: "memory:", clock: `manual:${start}`, log: "none", ...more })

/** The error of a refused call. */
const refusalOf = async (call: Promise<unknown>): Promise<PunctualError> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof PunctualError)) throw new Error(`it was not refused: ${error}`)
  return error
}

/** A handler that keeps what it gets. */
const recorder = () => {
  const fires: Array<TimerFire> = []
  return {
    fires,
    handler: (fire: TimerFire) => {
      fires.push(fire)
    },
  }
}

describe("timers of a program", () => {
  test("go to the handler of their namespace, with the given values, and Dates for instants", async () => {
    await using punctual = await openManual()
    const { fires, handler } = recorder()
    punctual.on("billing", handler)
    const created = await punctual.create({
      namespace: "billing",
      timerId: "reminder",
      executeAt: after(24),
      payload: { invoice: 4711, executeAt: "as it is" },
      correlationId: "c-1",
    })
    expect(created).toMatchObject({
      result: "created",
      timer: {
        state: "pending",
        executeAt: after(24),
        fireAt: after(24),
        createdAt: after(0),
        target: { type: "handler" },
      },
    })
    expect(await punctual.advance({ by: "31d" })).toEqual({ now: after(31 * 24), fired: 1 })
    expect(fires).toEqual([
      {
        namespace: "billing",
        timerId: "reminder",
        fireId: created.timer.fireId,
        attempt: 1,
        maxAttempts: 10,
        executeAt: after(24),
        firedAt: after(24),
        correlationId: "c-1",
        payload: { invoice: 4711, executeAt: "as it is" },
      },
    ])
  })

  test("say what they wait for once they are due: a handler, a pause, a key", async () => {
    using folder = new TemporaryFolder()
    const store = `sqlite:${join(folder.path, "timers.db")}`
    const key = { namespace: "n", timerId: "a" }
    const sealed = { namespace: "signed", timerId: "s" }
    {
      await using punctual = await openManual({ store, secretKey: "1".repeat(64) })
      const { timer } = await punctual.create({ ...key, delay: "1s" })
      expect(timer).not.toHaveProperty("waiting")
      await punctual.advance({ by: "1h" })
      const since = new Date(after(0).getTime() + 1_000)
      const detail = "The program has registered no handler for the namespace."
      const waiting = { reason: "noSubscriber", since, detail }
      expect((await punctual.get(key)).timer).toMatchObject({ state: "pending", waiting })
      expect((await punctual.list({ namespace: "n" })).timers).toMatchObject([{ waiting }])
      await punctual.namespaces.put({ namespace: "n", paused: true })
      expect((await punctual.get(key)).timer.waiting).toMatchObject({ reason: "paused", since: after(1) })
      await punctual.service.pause({})
      expect((await punctual.get(key)).timer.waiting).toMatchObject({ reason: "servicePaused" })
      await punctual.service.resume({})
      await punctual.namespaces.put({ namespace: "n", paused: false })
      const webhookSecrets = [`whsec_${Buffer.alloc(32, 1).toString("base64")}`]
      await punctual.namespaces.put({ namespace: "signed", webhookSecrets })
      await punctual.create({ ...sealed, delay: "1h", callbackUrl: "http://127.0.0.1:9/" })
      const fired = recorder()
      punctual.on("n", fired.handler)
      await punctual.advance({ by: "1s" })
      expect(fired.fires).toHaveLength(1)
    }
    await using punctual = await openManual({ store, clock: `manual:${after(3).toISOString()}` })
    await punctual.advance({ by: "1s" })
    const { timer } = await punctual.get(sealed)
    expect(timer).toMatchObject({ state: "pending", attempts: 0, waiting: { reason: "sealed" } })
  })

  test("can be read, changed, cancelled and listed as over HTTP", async () => {
    await using punctual = await openManual()
    const key = { namespace: "n", timerId: "a" }
    const { timer } = await punctual.create({ ...key, delay: "2s", payload: { at: "noon" } })
    expect(await punctual.get(key)).toEqual({ timer: { ...timer, payload: { at: "noon" } } })
    const updated = await punctual.update({ ...key, executeAt: after(3), ifRevision: timer.revision })
    expect(updated.timer.executeAt).toEqual(after(3))
    expect(updated).not.toHaveProperty("warnings")
    const warnings = ["executeAt is 3h in the past: the timer is due at once"]
    const past = { namespace: "past", timerId: "a", executeAt: after(-3) }
    expect(await punctual.create(past)).toMatchObject({ warnings })
    expect(await punctual.update({ ...past, executeAt: after(-3) })).toMatchObject({ warnings })
    expect((await punctual.createMany([{ ...past, timerId: "b" }])).results).toMatchObject([{ warnings }])
    const { results } = await punctual.createMany([
      { namespace: "n", timerId: "b", delay: "1h" },
      { namespace: "n", timerId: "c", delay: "soon" },
    ])
    expect(results).toMatchObject([
      { result: "created", timerId: "b" },
      { problem: { code: "invalidRequest", errors: [{ pointer: "/timers/1/delay" }] } },
    ])
    const page = await punctual.list({ namespace: "n", from: after(0), until: after(2) })
    expect(page.timers.map(({ timerId, fireAt }) => [timerId, fireAt])).toEqual([["b", after(1)]])
    expect(await punctual.cancel(key)).toEqual({ result: "cancelled" })
    expect(await punctual.cancel(key)).toEqual({ result: "alreadyCancelled" })
  })

  test("can also be webhooks", async () => {
    await using receiver = await Receiver.listening()
    await using punctual = await openManual()
    await punctual.create({ namespace: "n", delay: "1h", callbackUrl: `${receiver.url}/hook` })
    expect(await punctual.advance({ to: after(1) })).toEqual({ now: after(1), fired: 1 })
    expect(receiver.deliveries.length).toBe(1)
  })

  test("fire by the system's clock unless it is manual, and the system's clock cannot be moved", async () => {
    await using punctual = await Punctual.open({ store: "memory:", log: "none" })
    const { promise, resolve } = Promise.withResolvers<TimerFire>()
    punctual.on("n", resolve)
    await punctual.create({ namespace: "n", timerId: "a", delay: "5ms" })
    expect((await promise).timerId).toBe("a")
    expect(await refusalOf(punctual.advance({ by: "1d" }))).toMatchObject({ code: "clockNotManual" })
  })
})

describe("a handler", () => {
  test("that moves the clock is refused at once, but only by its own clock and while it runs", async () => {
    await using punctual = await openManual()
    await using other = await openManual()
    const seen: Array<string> = []
    let later: Promise<string> | undefined
    const ended = Promise.withResolvers<void>()
    const advanced = async () => {
      const move = punctual.advance({ by: "1h" })
      return move.then(
        () => "moved",
        ({ code, message }) => `${code}: ${message}`,
      )
    }
    punctual.on("n", async () => {
      seen.push(await advanced())
      await other.advance({ by: "1h" })
      later = ended.promise.then(advanced)
    })
    await punctual.create({ namespace: "n", timerId: "a", delay: "1h" })
    expect(await punctual.advance({ by: "1h" })).toEqual({ now: after(1), fired: 1 })
    expect(seen).toEqual([expect.stringMatching(/^invalidRequest: A handler cannot move the clock, /)])
    ended.resolve()
    expect(await later).toBe("moved")
    expect(await punctual.advance({ by: "0s" })).toEqual({ now: after(2), fired: 0 })
  })

  test("can return any thenable, and the engine waits for it", async () => {
    await using punctual = await openManual()
    const { promise, resolve } = Promise.withResolvers<HandlerReply>()
    // Like a query builder, it begins only when something waits for it.
    const lazy: PromiseLike<HandlerReply> = {
      // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable.
      then: (onEnd, onError) => {
        resolve({ nextDelay: "1h" })
        return promise.then(onEnd, onError)
      },
    }
    punctual.on("n", () => lazy)
    await punctual.create({ namespace: "n", timerId: "a", delay: "1h" })
    expect(await punctual.advance({ by: "2h" })).toMatchObject({ fired: 2 })
  })

  test("that throws, or whose promise rejects, is retried by the retry policy", async () => {
    await using punctual = await openManual()
    const attempts: Array<[number, Date]> = []
    punctual.on("n", ({ attempt, firedAt }) => {
      attempts.push([attempt, firedAt])
      if (attempt === 1) throw new Error("not yet")
      return attempt === 2 ? Promise.reject(new Error("nor now")) : Promise.resolve()
    })
    const retryPolicy = { initialInterval: "1h", backoffMultiplier: 2, jitter: 0 }
    await punctual.create({ namespace: "n", timerId: "a", executeAt: after(1), retryPolicy })
    expect(await punctual.advance({ by: "1d" })).toMatchObject({ fired: 3 })
    expect(attempts).toEqual([
      [1, after(1)],
      [2, after(2)],
      [3, after(4)],
    ])
  })

  test("that returns a next time is fired again, with the given payload", async () => {
    await using punctual = await openManual()
    const seen: Array<[unknown, Date]> = []
    const next = [
      { nextDelay: "1h", payload: { n: 1 } },
      { nextExecuteAt: after(5) },
      { nextExecuteAt: start },
    ]
    punctual.on("n", ({ payload, firedAt }) => {
      seen.push([payload, firedAt])
      // A result without a time is not an answer.
      return (next.shift() ?? { payload: "ignored" }) as HandlerReply
    })
    await punctual.create({ namespace: "n", timerId: "a", executeAt: after(1), payload: { n: 0 } })
    await punctual.advance({ by: "1d" })
    expect(seen).toEqual([
      [{ n: 0 }, after(1)],
      [{ n: 1 }, after(2)],
      [{ n: 1 }, after(5)],
      // A time in the past becomes one second from now.
      [{ n: 1 }, new Date(after(5).getTime() + 1_000)],
    ])
  })

  test("whose answer is not valid has failed", async () => {
    await using punctual = await openManual()
    const wrong = [
      { nextDelay: "soon" },
      { nextDelay: 5 },
      { nextExecuteAt: "tomorrow" },
      { nextExecuteAt: new Date(Number.NaN) },
      { nextDelay: "1s", nextExecuteAt: after(1) },
      { nextDelay: "1s", payload: "x".repeat(70_000) },
      { nextDelay: "1s", payload: 1n },
    ]
    punctual.on("n", ({ attempt }) => wrong[attempt - 1] as HandlerReply)
    await punctual.create({ namespace: "n", timerId: "a", delay: "1s", retryPolicy: { maxAttempts: 7 } })
    expect(await punctual.advance({ by: "7d" })).toMatchObject({ fired: 7 })
    const { timer } = await punctual.get({ namespace: "n", timerId: "a" })
    expect(timer).toMatchObject({ state: "dead", reason: "attemptsExhausted" })
    expect(timer.lastAttempt?.error).toStartWith("the handler failed: ")
  })

  test("that comes late finds its timers waiting, with no attempt used", async () => {
    await using punctual = await openManual()
    for (const timerId of ["a", "b"]) await punctual.create({ namespace: "late", timerId, delay: "1h" })
    await punctual.create({ namespace: "n", timerId: "c", delay: "2h" })
    const others = recorder()
    punctual.on("n", others.handler)
    // They do not delay other timers.
    expect(await punctual.advance({ by: "30d" })).toMatchObject({ fired: 1 })
    const { fires, handler } = recorder()
    const { promise, resolve } = Promise.withResolvers<void>()
    punctual.on("late", (fire) => {
      handler(fire)
      if (fires.length === 2) resolve()
    })
    await promise
    expect(fires.map(({ attempt, firedAt }) => [attempt, firedAt])).toEqual([
      [1, after(30 * 24)],
      [1, after(30 * 24)],
    ])
  })

  test("that hangs has a time limit, and the clock moves on", async () => {
    await using punctual = await openManual({ handlerTimeout: "20ms" })
    punctual.on("n", () => new Promise(() => {}))
    await punctual.create({ namespace: "n", timerId: "a", delay: "1h", retryPolicy: { maxAttempts: 1 } })
    expect(await punctual.advance({ by: "1d" })).toMatchObject({ fired: 1 })
    const { timer } = await punctual.get({ namespace: "n", timerId: "a" })
    expect(timer.lastAttempt?.error).toContain("longer than 20ms")
  })

  test("can create timers, which fire in the same advance", async () => {
    await using punctual = await openManual()
    const seen: Array<string> = []
    punctual.on("n", async ({ timerId, firedAt }) => {
      seen.push(`${timerId} ${firedAt.toISOString().slice(11, 16)}`)
      if (timerId === "a") await punctual.create({ namespace: "n", timerId: "b", delay: "30m" })
    })
    await punctual.create({ namespace: "n", timerId: "a", delay: "1h" })
    await punctual.create({ namespace: "n", timerId: "c", delay: "2h" })
    expect(await punctual.advance({ by: "1d" })).toMatchObject({ fired: 3 })
    expect(seen).toEqual(["a 01:00", "b 01:30", "c 02:00"])
  })
})

test("10,000 timers of a month fire in due order", async () => {
  await using punctual = await openManual()
  const seen: Array<number> = []
  punctual.on("n", ({ payload }) => {
    seen.push(payload as number)
  })
  const count = 10_000
  // None is due at the start: it would fire before the clock is advanced.
  const minutes = Array.from({ length: count }, (_, index) => ((index * 7_919) % count) * 4 + 4)
  for (let from = 0; from < count; from += 1_000) {
    await punctual.createMany(
      minutes
        .slice(from, from + 1_000)
        .map((minute) => ({ namespace: "n", executeAt: after(minute / 60), payload: minute })),
    )
  }
  expect(await punctual.advance({ by: "31d", maxFirings: 20_000 })).toEqual({
    now: after(31 * 24),
    fired: count,
  })
  expect(seen).toEqual(minutes.toSorted((one, other) => one - other))
}, 60_000)

describe("a refusal", () => {
  test("uses the contract's words", async () => {
    await using punctual = await openManual()
    const key = { namespace: "n", timerId: "a" }
    const invalid = await refusalOf(punctual.create({ ...key, delay: "soon", executeAt: after(1) }))
    expect(invalid).toMatchObject({ name: "PunctualError", code: "invalidRequest" })
    expect(invalid.errors?.map(({ pointer }) => pointer)).toContain("/delay")
    expect(await refusalOf(punctual.get(key))).toMatchObject({ code: "timerNotFound" })
    const { timer } = await punctual.create({ ...key, delay: "1h" })
    expect(await refusalOf(punctual.create({ ...key, delay: "2h", onExisting: "fail" }))).toMatchObject({
      code: "timerExists",
    })
    expect(await refusalOf(punctual.update({ ...key, delay: "2h", ifRevision: 1 }))).toMatchObject({
      code: "revisionMismatch",
      currentRevision: timer.revision,
    })
    for (const executeAt of [new Date(Number.NaN), "tomorrow", after(1e6)]) {
      const { errors } = await refusalOf(punctual.create({ ...key, executeAt }))
      expect(errors?.[0]?.pointer).toBe("/executeAt")
    }
    expect(await refusalOf(punctual.create({ ...key, delay: "1h", payload: 1n }))).toMatchObject({
      code: "invalidRequest",
    })
    expect(await refusalOf(punctual.advance({ to: new Date(0) }))).toMatchObject({ code: "invalidRequest" })
    expect(() => punctual.on("no such name!", () => {})).toThrow(PunctualError)
    expect(() => punctual.on("n", undefined as never)).toThrow("must be a function")
  })

  test("options are all checked at once", async () => {
    const options = { store: "oracle://h", clock: "tomorrow", shards: 0, colour: "red" }
    const { code, errors } = await refusalOf(Punctual.open(options))
    expect(code).toBe("invalidRequest")
    expect(errors?.map(({ pointer }) => pointer)).toEqual(["/store", "/clock", "/shards", "/colour"])
  })

  test("a manual clock is refused on a store that others can use", async () => {
    const { errors } = await refusalOf(Punctual.open({ store: "postgres://h/db", clock: "manual" }))
    expect(errors).toEqual([{ pointer: "/clock", detail: expect.stringContaining("must be system") }])
  })
})

describe("on a file", () => {
  const fileIn = (folder: TemporaryFolder) => `sqlite:${join(folder.path, "timers.db")}`

  test("audit records outlive the program, and expire after their retention", async () => {
    using folder = new TemporaryFolder()
    const store = fileIn(folder)
    {
      await using punctual = await openManual({ store })
      await punctual.namespaces.put({ namespace: "n", maxPending: 5 })
    }
    {
      await using punctual = await openManual({ store })
      const { records } = await punctual.audit.list()
      expect(records).toMatchObject([{ at: after(0), action: "namespaces.put", after: { maxPending: 5 } }])
    }
    // The first round of pruning runs when the store is opened.
    const clock = `manual:${after(2).toISOString()}`
    await using later = await openManual({ store, clock, auditRetention: "1h" })
    await eventually("the record is removed", async () =>
      (await later.audit.list()).records.length === 0 ? true : undefined,
    )
  })

  test("timers outlive the program", async () => {
    using folder = new TemporaryFolder()
    const { fires, handler } = recorder()
    {
      await using punctual = await openManual({ store: fileIn(folder) })
      await punctual.create({ namespace: "n", timerId: "a", delay: "1h" })
    }
    await using punctual = await openManual({ store: fileIn(folder) })
    punctual.on("n", handler)
    expect(await punctual.advance({ by: "1h" })).toMatchObject({ fired: 1 })
    expect(fires.map(({ timerId }) => timerId)).toEqual(["a"])
  })

  test("a second program is refused while the first is open, and can open the store after that", async () => {
    using folder = new TemporaryFolder()
    const store = fileIn(folder)
    const first = await openManual({ store })
    const refused = await refusalOf(openManual({ store, openTimeout: "1s" }))
    expect(refused).toMatchObject({ code: "ownerUnavailable", message: expect.stringContaining("timers.db") })
    await first.close()
    await using second = await openManual({ store })
    expect((await second.list({ namespace: "n" })).timers).toEqual([])
  }, 20_000)

  test("a folder that cannot be created is reported", async () => {
    expect(await refusalOf(openManual({ store: "sqlite:/dev/null/timers.db" }))).toMatchObject({
      code: "internal",
      message: expect.stringContaining("/dev/null"),
    })
  })
})

describe("closing", () => {
  test("lets running handlers finish, stores their outcomes, and starts nothing more", async () => {
    using folder = new TemporaryFolder()
    const store = `sqlite:${join(folder.path, "timers.db")}`
    const punctual = await openManual({ store })
    const running = Promise.withResolvers<void>()
    const ending = Promise.withResolvers<void>()
    punctual.on("n", () => {
      running.resolve()
      return ending.promise
    })
    await punctual.create({ namespace: "n", timerId: "a", executeAt: after(-1) })
    await running.promise
    const closing = punctual.close()
    expect(punctual.close()).toBe(closing)
    expect(await refusalOf(punctual.get({ namespace: "n", timerId: "a" }))).toMatchObject({
      code: "ownerUnavailable",
      written: "no",
    })
    ending.resolve()
    await closing
    await using again = await openManual({ store })
    expect((await again.get({ namespace: "n", timerId: "a" })).timer.state).toBe("delivered")
  }, 20_000)

  test("has a time limit: a handler that does not end is abandoned", async () => {
    const punctual = await openManual({ drainTimeout: "50ms" })
    const running = Promise.withResolvers<void>()
    punctual.on("n", () => {
      running.resolve()
      return new Promise(() => {})
    })
    await punctual.create({ namespace: "n", timerId: "a", executeAt: after(-1) })
    await running.promise
    await punctual.close()
  }, 20_000)
})
