// `/timers/histogram` and `/timers/lives` over HTTP: their answers and refusals, and what a key may count.
import { describe, expect, test } from "bun:test"
import { KeyDirectory, type NewKey } from "@punctual/door/KeyDirectory"
import { Effect } from "effect"
import { refused, succeeded } from "./answers.ts"
import { withService } from "./ServiceFixture.ts"

const span = { from: "2031-01-01T00:00:00Z", until: "2031-01-01T04:00:00Z" }
const timer = (namespace: string, timerId: string, hour: number) => ({
  namespace,
  timerId,
  executeAt: `2031-01-01T0${hour}:30:00Z`,
  callbackUrl: "https://example.com/hook",
})
const timers = [
  timer("team-a", "one", 0),
  timer("team-a", "two", 0),
  { ...timer("team-a", "tagged", 2), tags: ["blue"] },
  timer("team-b", "three", 3),
  timer("other", "four", 9),
]

describe("a histogram", () => {
  test("counts the timers that its filter selects, in each part of its span", () =>
    withService({}, async ({ call }) => {
      await call("createMany", { timers })
      const countsOf = async (filter: object, buckets = 4) => {
        const answer = await call("histogram", { filter: { ...span, ...filter }, buckets })
        const { counts, total, estimated } = succeeded("histogram", answer)
        expect([total, estimated]).toEqual([counts.reduce((sum, count) => sum + count, 0), false])
        expect(answer.json).not.toHaveProperty("capped")
        return counts
      }
      expect(await countsOf({ namespace: "team-a" })).toEqual([2, 0, 1, 0])
      expect(await countsOf({ namespaces: ["team-*"] })).toEqual([2, 0, 1, 1])
      expect(await countsOf({ namespaces: ["*"] }, 2)).toEqual([2, 2])
      expect(await countsOf({ namespaces: ["*"], states: ["pending", "dead"] }, 1)).toEqual([4])
      expect(await countsOf({ namespace: "team-a", tag: "blue" })).toEqual([0, 0, 1, 0])
      expect(await countsOf({ namespace: "team-a", idPrefix: "t" })).toEqual([1, 0, 1, 0])
      expect(await countsOf({ namespace: "team-a", state: "delivered" })).toEqual([0, 0, 0, 0])
    }))

  test("needs both bounds, and 1 to 500 buckets", () =>
    withService({}, async ({ call }) => {
      const filter = { namespace: "n", ...span }
      for (const [body, pointer] of [
        [{ filter, buckets: 0 }, "/buckets"],
        [{ filter, buckets: 501 }, "/buckets"],
        [{ filter, buckets: 1.5 }, "/buckets"],
        [{ filter }, "/buckets"],
        [{ buckets: 1 }, "/filter"],
        [{ filter: { namespace: "n", from: span.from }, buckets: 1 }, "/filter/until"],
        [{ filter: { namespace: "n", until: span.until }, buckets: 1 }, "/filter/from"],
        [{ filter: { ...filter, until: span.from }, buckets: 1 }, "/filter/until"],
        [{ filter: span, buckets: 1 }, "/filter/namespace"],
        [{ filter: { ...span, namespaces: ["*"], state: "delivered" }, buckets: 1 }, "/filter/state"],
      ] as const) {
        const { errors } = refused(await call("histogram", body), "invalidRequest")
        expect(errors?.map((error) => error.pointer)).toEqual([pointer])
      }
      expect(succeeded("histogram", await call("histogram", { filter, buckets: 500 })).counts).toHaveLength(
        500,
      )
    }))

  test("and the lives of a key are only for keys that may read the namespaces", async () => {
    const texts = new Map<string, string>()
    const before = Effect.gen(function* () {
      const keys = yield* KeyDirectory
      const make = (label: string, rights: Partial<NewKey>) =>
        Effect.map(
          keys.create(
            { label, actions: ["timers.read"], namespaces: ["*"], madeBy: "test", ...rights },
            Date.now(),
          ),
          ({ text }) => texts.set(label, text),
        )
      yield* make("admin", { actions: ["*"] })
      yield* make("all", {})
      yield* make("team", { namespaces: ["team-*"] })
      yield* make("a", { namespaces: ["team-a"] })
    }).pipe(Effect.orDie)
    await withService({ before }, async ({ call }) => {
      const as = (label: string) => ({ authorization: `Bearer ${texts.get(label)}` })
      await call("createMany", { timers }, as("admin"))
      for (const [label, namespaces, total] of [
        ["all", ["*"], 4],
        ["all", ["team-*", "other"], 4],
        ["team", ["team-*"], 4],
        ["team", ["team-a", "team-b"], 4],
        ["a", ["team-a"], 3],
        ["a", ["team-*"], undefined],
        ["a", ["team-a", "team-b"], undefined],
        ["team", ["*"], 4],
        ["a", ["*"], 3],
        ["team", ["other"], undefined],
      ] as const) {
        const answer = await call("histogram", { filter: { ...span, namespaces }, buckets: 1 }, as(label))
        if (total === undefined) refused(answer, "forbidden")
        else
          expect([label, namespaces, succeeded("histogram", answer).total]).toEqual([
            label,
            namespaces,
            total,
          ])
      }
      const key = { namespace: "team-b", timerId: "three" }
      refused(await call("lives", key, as("a")), "forbidden")
      expect(succeeded("lives", await call("lives", key, as("team"))).lives).toHaveLength(1)
    })
  })
})

describe("the lives of a key", () => {
  const key = { namespace: "team-a", timerId: "one" }

  test("are shown latest first, page by page, in the form of get", () =>
    withService({}, async ({ call }) => {
      expect(succeeded("lives", await call("lives", key))).toEqual({ lives: [] })
      for (let life = 0; life < 5; life++) {
        await call("create", { ...timer("team-a", "one", life), payload: life })
        if (life < 4) await call("delete", key)
      }
      const all = succeeded("lives", await call("lives", key))
      expect(all.lives.map(({ state }) => state)).toEqual(["pending", ...Array(4).fill("cancelled")])
      const hours = all.lives.map(({ executeAt }) => new Date(executeAt).getUTCHours())
      expect(hours).toEqual([4, 3, 2, 1, 0])
      expect(all).not.toHaveProperty("nextCursor")
      const { json } = await call("lives", { ...key, limit: 2 })
      expect(json.lives[0]).toEqual((await call("get", key)).json.timer)
      expect(json.lives[0].payload).toBe(4)
      const second = await call("lives", { ...key, limit: 2, cursor: json.nextCursor })
      expect(second.json.lives.map(({ executeAt }: { executeAt: string }) => executeAt)).toEqual([
        "2031-01-01T02:30:00.000Z",
        "2031-01-01T01:30:00.000Z",
      ])
      refused(await call("lives", { ...key, timerId: "two", cursor: json.nextCursor }), "invalidRequest")
    }))
})
