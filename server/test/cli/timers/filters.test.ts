// The filters of `punctual timers` and `punctual dead`: several namespaces and states, and filters without an index.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { withService } from "../../http/ServiceFixture.ts"
import { requestsTo, rowsOf, run, serviceThatAnswers } from "../CommandFixture.ts"

const later = "2031-01-01T00:00:00Z"
const refuse = (): Effect.Effect<Delivery> =>
  Effect.succeed({ kind: "dead", reason: "refused", status: 410, error: "answered 410" })

describe("several namespaces and states", () => {
  test("are listed with the namespace of each timer, and counted", () =>
    withService({ deliver: refuse }, async ({ url, call }) => {
      const punctual = (...args: ReadonlyArray<string>) => run(args, { environmentUrl: url })
      const timer = (namespace: string, timerId: string, executeAt: string) => ({
        namespace,
        timerId,
        executeAt,
        callbackUrl: `http://${namespace}.example.com/`,
      })
      await call("createMany", {
        timers: [
          timer("team-b", "two", later),
          timer("team-a", "one", later),
          timer("team-a", "gone", "2020-01-01T00:00:00Z"),
        ],
      })
      await eventually("it is dead", async () =>
        (await punctual("dead", "list", "*")).out.includes("gone") ? true : undefined,
      )
      const listed = async (...args: ReadonlyArray<string>) =>
        rowsOf((await punctual("timers", "list", ...args)).out).map((row) => row.slice(0, 3))
      expect(await listed("team-*")).toEqual([
        ["NAMESPACE", "TIMER", "STATE"],
        ["team-a", "one", "pending"],
        ["team-b", "two", "pending"],
      ])
      const both = rowsOf((await punctual("timers", "list", "team-a,team-b", "--state", "pending,dead")).out)
      expect(both[0]).toEqual([
        "NAMESPACE",
        "TIMER",
        "STATE",
        "FIRE OR FINISHED AT",
        "ATTEMPTS",
        "TARGET",
        "WHY",
      ])
      expect(both.slice(1).map(([, id]) => id)).toEqual(["two", "one", "gone"])
      expect(await listed("*", "--host", "team-b.example.com")).toEqual([
        ["NAMESPACE", "TIMER", "STATE"],
        ["team-b", "two", "pending"],
      ])
      expect(await listed("team-a", "--error", "5xx")).toEqual([["No pending timers in team-a that match."]])
      const count = async (...args: ReadonlyArray<string>) =>
        (await punctual("timers", "count", ...args)).out.trim()
      expect(await count("*", "--state", "pending,dead")).toBe("3")
      expect(await count("team-a", "--state", "dead", "--reason", "refused", "--error", "4xx")).toBe("1")
      expect(await count("team-a", "--state", "delivered", "--min-lateness", "1s")).toBe("0")
      const refusal = await punctual("timers", "list", "*", "--state", "delivered")
      expect([refusal.exitCode, refusal.err]).toEqual([
        2,
        expect.stringContaining("'*' is only for --state pending and --state dead: name the namespaces"),
      ])
      const withoutState = await punctual("timers", "count", "team-a", "--reason", "refused")
      expect([withoutState.exitCode, withoutState.err]).toEqual([
        2,
        expect.stringContaining("--reason needs --state dead or --state cancelled."),
      ])
      for (const args of [
        ["a,*"],
        ["a,a"],
        ["a", "--state", "gone"],
        ["a", "--state", "dead,dead"],
        ["a", "--error", "3xx"],
        ["a", "--state", "dead", "--reason", "refuse"],
        ["a", "--min-lateness", "soon"],
      ])
        expect((await punctual("timers", "list", ...args)).exitCode).toBe(2)
    }))

  test("are for lists and counts: what changes timers takes one namespace", async () => {
    for (const args of [
      ["timers", "cancel", "team-*", "--host", "a"],
      ["dead", "replay", "a,b", "--error", "5xx"],
      ["timers", "cancel", "a", "--reason", "refused"],
    ])
      expect((await run(args, { environmentUrl: "http://127.0.0.1:9" })).exitCode).toBe(2)
  })
})

describe("a filter without an index", () => {
  test("says how many timers a page examined, even if it is empty", async () => {
    const answer = { timers: [], examined: 10_000, nextCursor: "c1" }
    await using service = await serviceThatAnswers(() => ({ body: answer }))
    const { out, err } = await run(["timers", "list", "a", "--host", "b"], { environmentUrl: service.url })
    expect(out).toBe("No pending timers in a that match.\n")
    expect(err).toContain(
      "10000 timers were examined, and there may be more: list all with --all, or continue with --cursor=c1",
    )
    await using counting = await serviceThatAnswers(() => ({
      body: { count: 3, capped: true, examined: 10_000 },
    }))
    const counted = await run(["timers", "count", "a", "--host", "b"], { environmentUrl: counting.url })
    expect(counted.out).toBe("3 or more (10000 examined)\n")
  })

  test("is gone through by its cursor, in dry runs too", async () => {
    const more = { examined: 10_000, more: true }
    for (const [args, path, answers, out] of [
      [
        ["timers", "cancel"],
        "deleteMany",
        [
          { cancelled: 0, inFlight: 0 },
          { cancelled: 2, inFlight: 0 },
        ],
        "2 cancelled, 0 in flight.\n",
      ],
      [
        ["dead", "replay"],
        "replay",
        [
          { replayed: 1, skipped: 0 },
          { replayed: 2, skipped: 0 },
        ],
        "3 replayed, 0 skipped.\n",
      ],
      [
        ["dead", "discard", "--dry-run"],
        "discard",
        [{ discarded: 1 }, { discarded: 2 }],
        "Dry run: 3 would be discarded.\n",
      ],
    ] as const) {
      let asked = 0
      await using service = await serviceThatAnswers((request) => {
        if (request.path.endsWith("/service/get")) return { body: { now: "2030-01-01T00:00:00.000Z" } }
        if (request.path.endsWith("/timers/count"))
          return { body: { count: 1, capped: true, examined: 10_000 } }
        asked++
        if (asked === 3) return { body: { ...answers[1], examined: 5 } }
        return {
          body: { ...(asked === 1 ? answers[0] : zeros(answers[0])), ...more, nextCursor: `c${asked}` },
        }
      })
      const ended = await run([...args, "a", "--error", "5xx"], { environmentUrl: service.url })
      expect(ended).toMatchObject({ exitCode: 0, out })
      const cursors = requestsTo(service).flatMap(([called, fields]) =>
        called.endsWith(path) ? [(fields as { readonly cursor?: string }).cursor] : [],
      )
      expect(cursors).toEqual([undefined, "c1", "c2"])
    }
  })
})

/** A part in which nothing was done. */
const zeros = (counts: object): object => Object.fromEntries(Object.keys(counts).map((name) => [name, 0]))
