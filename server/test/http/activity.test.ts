// How much happened over time, over HTTP: series, lateness, rights, limits, and nodes that do not answer.
import { describe, expect, test } from "bun:test"
import { KeyDirectory, type NewKey } from "@punctual/door/KeyDirectory"
import { Effect } from "effect"
import type { ActivityRecord } from "../../src/domain/ActivityRecord.ts"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import { PeerError } from "../../src/ports/Peers.ts"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const start = "2030-01-01T00:00:00.000Z"
const startMs = Date.parse(start)
const hour = { from: start, until: "2030-01-01T01:00:00Z", step: "1m" }
const none = [0, 0, 0, 0, 0, 0, 0, 0, 0]
const onTime = [1, 0, 0, 0, 0, 0, 0, 0, 0]

const deliver = ({ timerId }: Fire): Effect.Effect<Delivery> =>
  Effect.succeed(
    timerId === "bad"
      ? { kind: "dead", reason: "refused", error: "status 410" }
      : { kind: "delivered", status: 200 },
  )

const create = ({ call }: RunningService, namespace: string, timerId: string, delay: string) =>
  call("create", { namespace, timerId, delay, callbackUrl: "https://example.com/hook" })

/** Two minutes with something in them. */
const live = async (service: RunningService) => {
  await create(service, "shop", "good", "90s")
  await create(service, "team-a", "bad", "90s")
  await create(service, "team-a", "off", "1h")
  await service.call("delete", { namespace: "team-a", timerId: "off" })
  await service.post("clock/advance", { by: "2m" })
}

const ask = async ({ call }: RunningService, more: object = {}) =>
  succeeded("activity", await call("activity", { ...hour, ...more }))

describe("activity", () => {
  test("is counted by step, with the lateness of all first attempts", () =>
    withService({ clockStartMs: startMs, deliver }, async (service) => {
      await live(service)
      const { points, ...rest } = await ask(service)
      expect(points).toEqual([
        { at: startMs, created: 3, delivered: 0, retried: 0, dead: 0, cancelled: 1, lateness: none },
        {
          at: startMs + 60_000,
          created: 0,
          delivered: 1,
          retried: 0,
          dead: 1,
          cancelled: 0,
          lateness: onTime.map((count) => count * 2),
        },
      ])
      expect(rest).toEqual({
        from: startMs,
        until: startMs + 3_600_000,
        step: 60_000,
        latenessUpToMs: [10, 50, 100, 500, 1_000, 5_000, 30_000, 300_000],
        missing: [],
      })
      const whole = await ask(service, { step: "1h", until: "2030-01-02T00:00:00Z" })
      expect(whole.points).toMatchObject([{ at: startMs, created: 3, delivered: 1, dead: 1, cancelled: 1 }])
    }))

  test("can be asked of some namespaces, and by namespace or host", () =>
    withService({ clockStartMs: startMs, deliver }, async (service) => {
      await live(service)
      const team = await ask(service, { namespaces: ["team-*"], step: "5m" })
      const expected = { at: startMs, created: 2, delivered: 0, retried: 0, dead: 1, cancelled: 1 }
      expect(team.points).toEqual([expected])
      const byName = await ask(service, { by: "namespace", step: "5m" })
      expect(byName.series).toEqual([
        { name: "shop", points: [{ at: startMs, lateness: onTime }] },
        { name: "team-a", points: [{ at: startMs, lateness: onTime }] },
      ])
      const byHost = await ask(service, { by: "host", step: "5m" })
      expect(byHost.series?.map(({ name }) => name)).toEqual(["host"])
    }))

  test("is refused beyond its limits", () =>
    withService({}, async ({ call }) => {
      const pointerOf = async (more: object) =>
        pointersOf(refused(await call("activity", { ...hour, ...more }), "invalidRequest"))
      expect(await pointerOf({ until: start })).toEqual(["/until"])
      expect(await pointerOf({ step: "90s" })).toEqual(["/step"])
      expect(await pointerOf({ step: "30s" })).toEqual(["/step"])
      expect(await pointerOf({ until: "2030-01-02T01:01:00Z" })).toEqual(["/until"])
      expect(await pointerOf({ until: "2030-03-05T00:00:00Z", step: "1h" })).toEqual(["/until"])
      expect(await pointerOf({ by: "host" })).toEqual(["/step"])
      expect(await pointerOf({ by: "host", step: "1h", until: "2030-02-01T00:00:00Z" })).toEqual(["/step"])
      succeeded("activity", await call("activity", { ...hour, until: "2030-01-02T01:00:00Z" }))
    }))

  test("shows a key only the namespaces that it may read", () => {
    const texts: Array<string> = []
    const full: NewKey = { label: "a", actions: ["*"], namespaces: ["*"], madeBy: "test" }
    const before = Effect.gen(function* () {
      const keys = yield* KeyDirectory
      for (const namespaces of [["*"], ["shop"]]) {
        texts.push((yield* keys.create({ ...full, namespaces }, startMs)).text)
      }
    }).pipe(Effect.orDie)
    return withService({ clockStartMs: startMs, before }, async (service) => {
      const [admin = {}, shop = {}] = texts.map((text) => ({ authorization: `Bearer ${text}` }))
      const callbackUrl = "https://example.com/hook"
      for (const namespace of ["shop", "team-a"]) {
        await service.call("create", { namespace, delay: "1h", callbackUrl }, admin)
      }
      const asked = (more: object) => service.call("activity", { ...hour, ...more }, shop)
      const point = { at: startMs, created: 1, delivered: 0, retried: 0, dead: 0, cancelled: 0 }
      expect(succeeded("activity", await asked({})).points).toEqual([point])
      refused(await asked({ namespaces: ["team-a"] }), "forbidden")
      expect((await asked({ namespaces: ["*"] })).json).toEqual((await asked({})).json)
      refused(await asked({ by: "host", step: "5m" }), "forbidden")
      const all = succeeded("activity", await service.call("activity", hour, admin))
      expect(all.points).toMatchObject([{ created: 2, lateness: none }])
    })
  })

  test("contains what other nodes have in memory, and names those that do not answer", () => {
    const record: ActivityRecord = {
      atMs: startMs,
      namespaces: {
        names: ["shop", "_other"],
        counts: [
          [5, 0, 0, 0, 0],
          [7, 0, 0, 0, 0],
        ],
      },
      lateness: none,
    }
    const members = ["a", "b", "c"].map((node) => ({
      node,
      address: `http://${node}`,
      beatAgeMs: 0,
      isLeaving: false,
      isLive: true,
    }))
    const activity = {
      of: ({ node }: { readonly node: string }) =>
        node === "b"
          ? Effect.succeed({ process: "p", records: [record] })
          : Effect.fail(new PeerError({ message: "gone", isUndelivered: true })),
    }
    const peers = { prefix: "/internal/", handle: async () => ({ status: 404, headers: {}, body: "" }) }
    const engine = { cluster: () => ({ node: "a", members, shards: [] }) }
    return withService({ clockStartMs: startMs, engine, cluster: { peers, activity } }, async (service) => {
      const all = await ask(service)
      expect(all).toMatchObject({ points: [{ at: startMs, created: 12 }], missing: ["c"], partial: true })
      const shop = await ask(service, { namespaces: ["shop"] })
      expect(shop).toMatchObject({ points: [{ created: 5 }], partial: true })
    })
  })
})
