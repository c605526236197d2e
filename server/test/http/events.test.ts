// The stream of events over HTTP: what readers get, who may read, and how streams end.
import { describe, expect, test } from "bun:test"
import { actions } from "@punctual/api/CallTerms"
import { KeyDirectory, type NewKey, type ShownKey } from "@punctual/door/KeyDirectory"
import { makeKeyText } from "@punctual/door/KeyText"
import { Effect } from "effect"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { EventLines } from "../../testkit/EventLines.ts"
import { eventually } from "../../testkit/eventually.ts"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type RunningService, type ServiceOptions, withService } from "./ServiceFixture.ts"

const path = "/api/v1/events/stream"
const key = { namespace: "shop", timerId: "t" }
const timer = { ...key, delay: "1h", callbackUrl: "https://example.com/hook" }

const failsOnce = () => {
  let failures = 1
  return () =>
    Effect.sync(
      (): Delivery =>
        failures-- > 0
          ? { kind: "retry", error: "status 500", status: 500, isHostFailure: false }
          : { kind: "delivered", status: 200 },
    )
}

/** All tests of a process share their metrics. */
const metric = async (fetch: RunningService["fetch"], name: string): Promise<number> =>
  Number(new RegExp(`^timer_${name} (\\d+)$`, "m").exec((await fetch("/metrics")).text)?.[1])

const about = (events: EventLines, timerId: string) =>
  events.all
    .filter(({ data }) => data["timerId"] === timerId)
    .map(({ event, data }) => [event, data["state"]])

// Each took a tenth of a second while the list of values was copied for each of them.
test("a query with thousands of parameters or values is refused in one pass", () =>
  withService({}, async ({ fetch }) => {
    for (const query of ["a&".repeat(3_900), `namespaces=${",".repeat(7_500)}`]) {
      for (let times = 0; times < 100; times++) expect((await fetch(`${path}?${query}`)).status).toBe(400)
    }
  }))

describe("a reader", () => {
  test("gets every event of a timer's life, in order, without its payload", () =>
    withService({ deliver: failsOnce() }, async ({ url, call }) => {
      using events = await EventLines.open(`${url}${path}`)
      expect(events.contentType).toBe("text/event-stream")
      await call("create", { ...timer, payload: { secret: "hidden" } })
      const moved = succeeded("update", await call("update", { ...key, delay: "2h" }))
      await call("delete", key)
      const retryPolicy = { maxAttempts: 2, initialInterval: "1ms" }
      await call("create", { ...timer, timerId: "u", delay: "0s", retryPolicy })
      await eventually("u is delivered", () => about(events, "u").at(-1)?.[0] === "delivered" || undefined)
      expect(about(events, "t")).toEqual([
        ["created", "pending"],
        ["changed", "pending"],
        ["cancelled", "cancelled"],
      ])
      expect(about(events, "u")).toEqual([
        ["created", "pending"],
        ["started", "inFlight"],
        ["retried", "pending"],
        ["started", "inFlight"],
        ["delivered", "delivered"],
      ])
      expect(events.text).not.toContain("hidden")
      const changed = events.all.find(({ event }) => event === "changed")?.data
      const { fireId, updatedAt } = moved.timer
      const at = new Date(updatedAt).toISOString()
      expect(changed).toEqual({ ...key, fireId, at, state: "pending" })
    }))

  test("gets deaths and replays", () => {
    const deliver = () => Effect.succeed<Delivery>({ kind: "dead", reason: "refused", error: "status 410" })
    return withService({ deliver }, async ({ url, call }) => {
      using events = await EventLines.open(`${url}${path}`)
      await call("create", { ...timer, delay: "0s" })
      await eventually("it is dead", () => about(events, "t").at(-1)?.[0] === "dead" || undefined)
      await call("replay", key)
      await eventually("it is dead again", () => about(events, "t").length === 6 || undefined)
      expect(about(events, "t")).toEqual([
        ["created", "pending"],
        ["started", "inFlight"],
        ["dead", "dead"],
        ["replayed", "pending"],
        ["started", "inFlight"],
        ["dead", "dead"],
      ])
    })
  })

  test("gets only the namespaces and types that it asks for", () =>
    withService({}, async ({ url, call }) => {
      using some = await EventLines.open(`${url}${path}?namespaces=shop,team-*&types=created,cancelled`)
      for (const namespace of ["shop", "shop2", "team-a", "other"]) {
        await call("create", { ...timer, namespace })
        await call("update", { ...key, namespace, delay: "2h" })
        await call("delete", { ...key, namespace })
      }
      // Events arrive in order, so this one is the last.
      await call("create", { ...timer, timerId: "end" })
      await eventually("the last event", () => about(some, "end").length === 1 || undefined)
      const seen = some.all.flatMap(({ event, data }) => (event === "nodes" ? [] : [[event, data.namespace]]))
      expect(seen).toEqual([
        ["created", "shop"],
        ["cancelled", "shop"],
        ["created", "team-a"],
        ["cancelled", "team-a"],
        ["created", "shop"],
      ])
    }))

  test("is told what is wrong with its query", () =>
    withService({}, async ({ fetch }) => {
      const problemOf = async (query: string) => refused(await fetch(`${path}?${query}`), "invalidRequest")
      expect(pointersOf(await problemOf("types=created,broken"))).toEqual(["/types/1"])
      expect(pointersOf(await problemOf("namespaces=a,*"))).toEqual(["/namespaces/1"])
      expect(pointersOf(await problemOf("namespaces="))).toEqual(["/namespaces/0"])
      expect(pointersOf(await problemOf("namespace=a"))).toEqual(["/namespace"])
      expect(pointersOf(await problemOf("__proto__=a"))).toEqual(["/__proto__"])
      const posted = await fetch(path, { method: "POST", body: "{}" })
      refused(posted, "methodNotAllowed")
      expect(posted.headers.get("allow")).toBe("GET")
    }))

  test("continues after its last event, and is told if it cannot", () =>
    withService({}, async ({ url, call }) => {
      const first = await EventLines.open(`${url}${path}`)
      await call("create", timer)
      await eventually("it has arrived", () => about(first, "t").length === 1 || undefined)
      first.close()
      await call("update", { ...key, delay: "2h" })
      await call("delete", key)
      const again = { "last-event-id": first.lastId ?? "" }
      using second = await EventLines.open(`${url}${path}`, again)
      await eventually("the rest has arrived", () => about(second, "t").length === 2 || undefined)
      expect(second.all.map(({ event }) => event)).toEqual(["nodes", "changed", "cancelled"])
      for (const id of ["0123456789ab.5", "nonsense", "x".repeat(5_000)]) {
        using lost = await EventLines.open(`${url}${path}`, { "last-event-id": id })
        expect(lost.all.map(({ event }) => event)).toEqual(["gap", "nodes"])
      }
    }))

  test("gets at most 50 events of a second, and the others as counts", () =>
    withService({}, async ({ url, call, fetch }) => {
      const before = {
        sent: await metric(fetch, "events_sent_total"),
        skipped: await metric(fetch, "events_skipped_total"),
      }
      using events = await EventLines.open(`${url}${path}?types=created`)
      const timers = Array.from({ length: 300 }, (_, place) => ({ ...timer, timerId: `t${place}` }))
      succeeded("createMany", await call("createMany", { timers }))
      const got = await eventually("all are accounted for", () => {
        const shown = events.all.filter(({ event }) => event === "created").length
        const skipped = events.all.filter(({ event }) => event === "skipped")
        const counted = skipped.reduce((sum, { data }) => sum + data.counts.created, 0)
        return shown + counted === timers.length ? { shown, counted } : undefined
      })
      // The creates may fall into two seconds, or into three on a slow machine.
      expect(got.shown).toBeGreaterThanOrEqual(50)
      expect(got.shown).toBeLessThanOrEqual(150)
      expect([await metric(fetch, "events_sent_total"), await metric(fetch, "events_skipped_total")]).toEqual(
        [before.sent + got.shown, before.skipped + got.counted],
      )
      expect(await metric(fetch, "event_readers")).toBe(1)
    }))
})

describe("the number of readers", () => {
  test("is limited for each address, and a reader that leaves makes room", () =>
    withService({}, async ({ url, fetch }) => {
      const open = () => EventLines.open(`${url}${path}`)
      const readers = await Promise.all(Array.from({ length: 20 }, open))
      const problem = refused(await fetch(path), "overloaded")
      expect(problem.detail).toContain("20 open streams")
      readers.pop()?.close()
      const next = await eventually("there is room", async () => {
        const reader = await open()
        return reader.status === 200 ? reader : undefined
      })
      for (const reader of [...readers, next]) reader.close()
      await eventually("all have left", async () => (await metric(fetch, "event_readers")) === 0 || undefined)
    }))
})

describe("a stream", () => {
  test("ends when the service stops, so that its reader goes elsewhere", () =>
    withService({}, async ({ url, service, fetch }) => {
      const events = await EventLines.open(`${url}${path}`)
      service.close()
      await eventually("it has ended", () => events.isEnded || undefined)
      refused(await fetch(path), "ownerUnavailable")
    }))

  test("may be read by pages of allowed origins only", () =>
    withService({ guard: { corsOrigins: ["https://app.example"] } }, async ({ fetch, url }) => {
      const from = (origin: string) => ({ headers: { origin } })
      expect((await fetch(path, from("https://evil.example"))).status).toBe(403)
      const controller = new AbortController()
      const allowed = await globalThis.fetch(`${url}${path}`, {
        ...from("https://app.example"),
        signal: controller.signal,
      })
      expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example")
      controller.abort()
    }))
})

const hourMs = 3_600_000
const full: NewKey = { label: "anna", actions: ["*"], namespaces: ["*"], madeBy: "test" }

interface Keys {
  make(rights: Partial<NewKey>): Promise<ShownKey>
  revoke(key: ShownKey): Promise<unknown>
}

const withKeys = (
  use: (service: RunningService, keys: Keys) => Promise<void>,
  options: ServiceOptions = {},
): Promise<void> => {
  let made: Keys | undefined
  const before = Effect.gen(function* () {
    const keys = yield* KeyDirectory
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    made = {
      make: (rights) => run(keys.create({ ...full, ...rights }, Date.now())),
      revoke: ({ id }) => run(keys.revoke(id, Date.now())),
    }
    yield* keys.create(full, Date.now())
  }).pipe(Effect.orDie)
  return withService({ ...options, before }, async (service) => {
    if (made === undefined) throw new Error("the keys were not made")
    await use(service, made)
  })
}

const bearer = ({ text }: Pick<ShownKey, "text">) => ({ authorization: `Bearer ${text}` })

describe("the rights of a key", () => {
  test("decide whether it may read events, and of which namespaces", () =>
    withKeys(async ({ fetch, url, call }, { make, revoke }) => {
      refused(await fetch(path), "unauthorized")
      const ended = await make({})
      await revoke(ended)
      const old = await make({ expiresAtMs: Date.now() - 1 })
      for (const key of [ended, old, makeKeyText()]) {
        refused(await fetch(path, { headers: bearer(key) }), "unauthorized")
      }
      const writer = await make({ actions: actions.filter((action) => action !== "timers.read") })
      refused(await fetch(path, { headers: bearer(writer) }), "forbidden")
      const reader = await make({ actions: ["timers.read"], namespaces: ["shop", "team-*"] })
      for (const query of ["namespaces=other", "namespaces=shop,te*"]) {
        refused(await fetch(`${path}?${query}`, { headers: bearer(reader) }), "forbidden")
      }
      using events = await EventLines.open(`${url}${path}`, bearer(reader))
      using ofAll = await EventLines.open(`${url}${path}?namespaces=*`, bearer(reader))
      const admin = bearer(await make({}))
      for (const namespace of ["other", "shop", "team-a"])
        await call("create", { ...timer, namespace }, admin)
      for (const lines of [events, ofAll]) {
        await eventually("both have arrived", () => about(lines, "t").length === 2 || undefined)
        expect(lines.all.flatMap(({ data }) => data.namespace ?? [])).toEqual(["shop", "team-a"])
        expect(lines.text).not.toContain("other")
      }
    }))

  test("end its stream when the key is revoked or expires, and when a session or its key ends", () =>
    withKeys(
      async ({ url, fetch }, { make, revoke }) => {
        const revoked = await make({})
        const expiring = await make({ expiresAtMs: Date.now() + hourMs })
        const post = (name: string, body: unknown, headers: Record<string, string> = {}) =>
          fetch(`/api/v1/${name}`, {
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            body: JSON.stringify(body),
          })
        const sessionOf = async ({ text: apiKey }: ShownKey) => {
          const { headers } = await post("sessions/create", { apiKey })
          return { cookie: headers.get("set-cookie")?.split(";")[0] ?? "", "sec-fetch-site": "same-origin" }
        }
        const lasting = await make({})
        const [ofRevoked, ended] = [await sessionOf(revoked), await sessionOf(lasting)]
        const open = (headers: Record<string, string>) => EventLines.open(`${url}${path}`, headers)
        const streams = await Promise.all([bearer(revoked), bearer(expiring), ofRevoked, ended].map(open))
        using stays = await open(bearer(lasting))
        expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200])
        await revoke(revoked)
        expect((await post("sessions/end", {}, ended)).status).toBe(200)
        // The clock is manual, so the key does not expire before its stream is open.
        expect((await post("clock/advance", { by: "2h" }, bearer(lasting))).status).toBe(200)
        await eventually("they have ended", () => streams.every(({ isEnded }) => isEnded) || undefined)
        expect(stays.isEnded).toBe(false)
      },
      { clockStartMs: Date.now() },
    ))
})
