// `punctual explain`, against the real service: every answer it can give, and what it tells people to do.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { NamespaceDirectory } from "../../../src/engine/namespaces/NamespaceDirectory.ts"
import { serviceRecord } from "../../../src/engine/namespaces/SettingsRecords.ts"
import type { Delivery, Fire } from "../../../src/ports/Deliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { type RunningService, type ServiceOptions, withService } from "../../http/ServiceFixture.ts"
import { type Ended, problem, requestsTo, run, serviceThatAnswers } from "../CommandFixture.ts"

type Punctual = (...args: ReadonlyArray<string>) => Promise<Ended>

const withPunctual = (
  options: ServiceOptions,
  body: (punctual: Punctual, service: RunningService) => Promise<void>,
) => withService(options, (service) => body((...args) => run(args, { environmentUrl: service.url }), service))

const startMs = Date.UTC(2030, 0, 1)
/** By a clock that stands. */
const standing: ServiceOptions = { clockStartMs: startMs }
const hook = "http://localhost/hook"

const create = async (service: RunningService, timerId: string, more: object = {}) => {
  const body = { namespace: "shop", timerId, delay: "0s", callbackUrl: hook, ...more }
  expect((await service.call("create", body)).status).toBe(200)
}

const explained = async (punctual: Punctual, timerId: string): Promise<string> => {
  const { exitCode, out, err } = await punctual("explain", "shop", timerId)
  expect([exitCode, err]).toEqual([0, ""])
  return out
}

const failing = (delivery: Delivery) => ({ deliver: () => Effect.succeed(delivery) })

/** A timer as the service answers it. */
const plainTimer = {
  ...{ namespace: "shop", timerId: "t", state: "pending", revision: 1, fireId: "f", attempts: 0 },
  target: { type: "webhook", url: hook, method: "POST", timeout: "15s", body: "envelope" },
  ...{ executeAt: "2030-01-01T00:00:00Z", fireAt: "2030-01-01T00:00:00Z", correlationId: "c" },
  ...{ createdAt: "2029-01-01T00:00:00Z", updatedAt: "2029-01-01T00:00:00Z" },
  retryPolicy: {
    ...{ maxAttempts: 1, initialInterval: "1s", backoffMultiplier: 1, maxInterval: "1s", jitter: 0 },
  },
}

/** As long as the tests ask. */
const never = { deliver: (_: Fire): Effect.Effect<Delivery> => Effect.never }

describe("a timer that has not fired", () => {
  test("is not due yet", () =>
    withPunctual(standing, async (punctual, service) => {
      await create(service, "t", { delay: "76h" })
      expect(await explained(punctual, "t")).toBe(
        "shop/t is not due yet.\nIt is due at 2030-01-04T04:00:00.000Z, in 3 d 4 h.\n",
      )
      const { out } = await punctual("explain", "shop", "t", "--json")
      expect(JSON.parse(out)).toMatchObject({ status: "notDue", todo: [], timer: { timerId: "t" } })
    }))

  test("waits for its next attempt, after what went wrong", () =>
    withPunctual(
      { ...standing, ...failing({ kind: "retry", status: 503, error: "it said 503", isHostFailure: true }) },
      async (punctual, service) => {
        const retryPolicy = { maxAttempts: 3, initialInterval: "90s", jitter: 0 }
        await create(service, "t one", { retryPolicy })
        await service.post("clock/advance", { by: "1s" })
        const text = await explained(punctual, "t one")
        expect(text).toStartWith(
          "shop/t one waits for its next attempt.\nAttempt 1 failed. Attempt 2 of 3 starts ",
        )
        expect(text).toMatch(
          / starts at 2030-01-01T00:01:30\.\d{3}Z, in 1 min 29 s\. The last attempt: .*it said 503/,
        )
        expect(text).toContain("punctual timers update --delay 0s shop 't one'")
        // What it tells can be done.
        expect((await punctual("timers", "update", "shop", "t one", "--delay", "0s")).exitCode).toBe(0)
      },
    ))

  test("waits for its namespace, which one command resumes", () =>
    withPunctual(standing, async (punctual, service) => {
      await punctual("namespaces", "put", "shop", "--paused")
      await create(service, "t", { payload: { n: 12345678901234567890n.toString() } })
      expect(await explained(punctual, "t")).toBe(
        [
          "shop/t is due and has waited since 2030-01-01T00:00:00.000Z.",
          "The namespace shop is paused.",
          "",
          "What to do:",
          "  Resume the namespace: punctual namespaces put shop --unpaused",
          "",
        ].join("\n"),
      )
      const { out } = await punctual("explain", "shop", "t", "--json")
      expect(JSON.parse(out)).toEqual({
        status: "waiting",
        why: "The namespace shop is paused.",
        since: "2030-01-01T00:00:00.000Z",
        todo: ["Resume the namespace: punctual namespaces put shop --unpaused"],
        timer: JSON.parse((await punctual("timers", "get", "shop", "t", "--json")).out).timer,
      })
      expect((await punctual("timers", "get", "shop", "t")).out).toContain(
        "waiting        paused since 2030-01-01T00:00:00.000Z: The namespace shop is paused.\n",
      )
      expect((await punctual("timers", "list", "shop")).out).toContain("pending (paused)")
      await punctual("namespaces", "put", "shop", "--unpaused")
      await service.post("clock/advance", { by: "1s" })
      expect(await explained(punctual, "t")).toStartWith("shop/t was delivered at ")
    }))

  test("waits for the service, paused by an operator or by a restore", () =>
    withPunctual(standing, async (punctual, service) => {
      await punctual("pause", "--reason", "moving")
      await create(service, "t")
      const text = await explained(punctual, "t")
      expect(text).toContain("\nAll firing is paused. The reason given: moving.\n")
      expect(text).toContain("  Resume firing: punctual resume\n")
    }))

  test("waits for somebody to decide after a restore", () =>
    withPunctual(
      {
        ...standing,
        before: Effect.flatMap(NamespaceDirectory, (directory) =>
          Effect.ignore(
            directory.change(serviceRecord, startMs, () =>
              Effect.succeed({ pause: { sinceMs: startMs, kind: "restored" as const } }),
            ),
          ),
        ),
      },
      async (punctual, service) => {
        await create(service, "t")
        const text = await explained(punctual, "t")
        expect(text).toContain("\nThe store was restored from a backup.")
        expect(text).toContain("punctual resume --fire-overdue\n")
        expect(text).toContain("punctual restore --due-before now fire|dead|discard\n")
      },
    ))

  test("waits for a host that failed too often", () =>
    withPunctual(
      failing({ kind: "retry", error: "no answer", isHostFailure: true }),
      async (punctual, service) => {
        for (let index = 0; index < 30; index++) await create(service, `t-${index}`)
        const text = await eventually("a timer waits for the breaker", async () => {
          const { json } = await service.call("list", { namespace: "shop", limit: 1_000 })
          const found = json.timers.find(
            ({ waiting }: { waiting?: { reason: string } }) => waiting?.reason === "breaker",
          )
          if (found === undefined) return undefined
          const out = await explained(punctual, found.timerId)
          return out.includes("in a row") ? out : undefined
        })
        expect(text).toContain(" times in a row, so the service sends nothing to it for now. ")
        expect(text).toContain("punctual breakers reset localhost:80\n")
      },
    ))

  test("waits because the egress rules refuse its address", () =>
    withPunctual(
      failing({
        kind: "egressRefused",
        detail: "TIMER_EGRESS does not allow the address of localhost",
      }),
      async (punctual, service) => {
        await create(service, "t")
        const text = await eventually("the timer waits", async () => {
          const out = await explained(punctual, "t")
          return out.includes("TIMER_EGRESS") ? out : undefined
        })
        expect(text).toContain(
          "\nTIMER_EGRESS does not allow the address of localhost. Nothing is sent and no attempt is used.",
        )
        expect(text).toContain("punctual egress check http://localhost")
        expect(text).toContain("its expireAfter ends it, or you cancel it")
      },
    ))

  test("waits for room, and names the limit", () =>
    withPunctual(never, async (punctual, service) => {
      await punctual("namespaces", "put", "shop", "--max-in-flight", "1")
      // Each of four shards may start one.
      for (let index = 0; index < 2; index++) await create(service, `t-${index}`)
      const states = await eventually("one runs and one waits", async () => {
        const { json } = await service.call("list", { namespace: "shop" })
        const all: Array<string> = json.timers.map(
          ({ state, waiting }: { state: string; waiting?: { reason: string } }) => waiting?.reason ?? state,
        )
        return all.includes("inFlight") && all.includes("congested") ? all : undefined
      })
      const text = await explained(punctual, `t-${states.indexOf("congested")}`)
      expect(text).toContain("which is the limit by its maxInFlight.\n")
      expect(text).toContain("punctual namespaces put shop --max-in-flight N\n")
      const running = await explained(punctual, `t-${states.indexOf("inFlight")}`)
      expect(running).toMatch(
        /^shop\/t-\d has been in flight since 2\d{3}-.*Z\.\nAttempt 1 of 10 has been running for [\d.]+ m?s\. It ends after 15s at the latest\.\n$/,
      )
    }))
})

describe("a timer that has finished", () => {
  test("was delivered, or cancelled", () =>
    withPunctual(standing, async (punctual, service) => {
      await create(service, "one")
      await create(service, "two", { delay: "1h" })
      await punctual("timers", "cancel", "shop", "two")
      await service.post("clock/advance", { by: "1s" })
      expect(await explained(punctual, "one")).toBe(
        "shop/one was delivered at 2030-01-01T00:00:00.000Z.\nAttempt 1 delivered it, 0 ms late.\n",
      )
      expect(await explained(punctual, "two")).toBe(
        "shop/two was cancelled at 2030-01-01T00:00:00.000Z.\nIt will not fire. If the answer to the cancel was inFlight, one call was already on its way.\n",
      )
    }))

  test("was cancelled after an attempt, so the receiver may have got a call", async () => {
    await using service = await serviceThatAnswers(({ path }) =>
      path.endsWith("/timers/get")
        ? { body: { timer: { ...plainTimer, timerId: "--all", state: "cancelled", attempts: 1 } } }
        : { body: { now: "2030-01-01T01:00:00Z" } },
    )
    const { out } = await run(["explain", "--url", service.url, "--", "shop", "--all"])
    expect(out).toContain("It had 1 attempt, so the receiver may have got a call. No other attempt follows.")
  })

  test("whose id looks like a flag is named behind --, so that a command does not touch others", async () => {
    await using service = await serviceThatAnswers(({ path }) =>
      path.endsWith("/timers/get")
        ? { body: { timer: { ...plainTimer, timerId: "--all", state: "dead", reason: "expired" } } }
        : { body: { now: "2030-01-01T01:00:00Z" } },
    )
    const { out } = await run(["explain", "--url", service.url, "--", "shop", "--all"])
    expect(out).toContain("punctual dead replay -- shop --all")
  })

  test("was dropped because it expired", () =>
    withPunctual(standing, async (punctual, service) => {
      const late = { delay: undefined, executeAt: "2029-12-31T23:00:00Z" }
      await create(service, "t", { ...late, expireAfter: "1m", onExpire: "drop" })
      await eventually("it is dropped", async () =>
        (await service.call("get", { namespace: "shop", timerId: "t" })).json.timer.state === "cancelled"
          ? true
          : undefined,
      )
      expect(await explained(punctual, "t")).toContain(
        "\nIt expired: its first attempt could not start within 1m. Possible causes: it was created too late, the service was down, its host failed, too many deliveries were running, or TIMER_EGRESS does not allow its address (punctual egress check URL). Because onExpire is drop, it is not a dead letter. It will not fire.\n",
      )
    }))

  test("was not needed, because the timer of its onDead did not die", async () => {
    await using service = await serviceThatAnswers(({ path }) =>
      path.endsWith("/timers/get")
        ? { body: { timer: { ...plainTimer, state: "cancelled", reason: "notDead" } } }
        : { body: { now: "2030-01-01T01:00:00Z" } },
    )
    const { out } = await run(["explain", "shop", "t"], { environmentUrl: service.url })
    expect(out).toContain("the timer that it was about did not die. So the service made no call.\n")
  })

  test("is dead, for a reason", () =>
    withPunctual(
      { ...standing, ...failing({ kind: "retry", error: "no answer", isHostFailure: false }) },
      async (punctual, service) => {
        await create(service, "t", { retryPolicy: { maxAttempts: 1 } })
        await service.post("clock/advance", { by: "1s" })
        const text = await explained(punctual, "t")
        expect(text).toStartWith("shop/t has been dead since 2030-01-01T00:00:0")
        expect(text).toContain(
          "\nIts only attempt failed. The last attempt: 2030-01-01T00:00:00.000Z  no answer",
        )
        expect(text).toContain("punctual dead replay shop t\n")
        expect(text).toContain("punctual dead discard shop t\n")
      },
    ))
})

describe("what explain cannot tell", () => {
  test("a key that nobody knows is said to be unknown, and why", () =>
    withPunctual(standing, async (punctual) => {
      const { exitCode, out, err } = await punctual("explain", "shop", "t")
      expect([exitCode, out]).toEqual([1, ""])
      expect(err).toContain("there is no timer t in the namespace shop. It was never created, or ")
      expect(err).toContain("TIMER_HISTORY_RETENTION")
    }))

  test("a due timer without a reason is about to start, or its owner does not answer", async () => {
    await using service = await serviceThatAnswers(({ path }) =>
      path.endsWith("/timers/get")
        ? { body: { timer: plainTimer } }
        : { body: { now: "2030-01-01T01:00:00Z" } },
    )
    const { out } = await run(["explain", "shop", "t"], { environmentUrl: service.url })
    expect(out).toStartWith("shop/t is due and has not started since 2030-01-01T00:00:00.000Z.\n")
    expect(out).toContain("the node that owns it did not answer")
    expect(out).toContain("  See whether every shard has an owner: punctual cluster\n")
    expect(requestsTo(service)).toEqual([
      ["/timers/get", { namespace: "shop", timerId: "t" }],
      ["/service/get", {}],
    ])
  })

  test("other refusals are told as they are", async () => {
    await using service = await serviceThatAnswers(() => problem(503, "overloaded", "Too much."))
    const { exitCode, err } = await run(["explain", "shop", "t"], { environmentUrl: service.url })
    expect([exitCode, err]).toEqual([1, expect.stringContaining("refused (overloaded): Too much.")])
  })
})
