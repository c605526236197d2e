// What keys and sessions may do, and what they are shown. everyCallAndKey.test.ts tries every call with every kind of key.
import { describe, expect, test } from "bun:test"
import { connect } from "node:net"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import { AddressRanges } from "@punctual/door/AddressRanges"
import { KeyDirectory, type NewKey, type ShownKey } from "@punctual/door/KeyDirectory"
import { makeKeyText } from "@punctual/door/KeyText"
import { Effect } from "effect"
import { type Answered, type RunningService, type ServiceOptions, withService } from "./ServiceFixture.ts"

const full: NewKey = { label: "anna", actions: ["*"], namespaces: ["*"], madeBy: "test" }
const hourMs = 3_600_000

interface MadeKeys {
  readonly admin: ShownKey
  readonly expired: ShownKey
  readonly revoked: ShownKey
  /** Makes a key with these rights. */
  make(rights: Partial<NewKey>): Promise<ShownKey>
}

/** A service with an administrator's key and two keys that have ended. */
const withKeys = (
  use: (service: RunningService & { readonly keys: MadeKeys }) => Promise<void>,
  options: ServiceOptions = {},
): Promise<void> => {
  let made: MadeKeys | undefined
  const before = Effect.gen(function* () {
    const keys = yield* KeyDirectory
    const context = yield* Effect.context<never>()
    const nowMs = Date.now()
    const [admin, expired, revoked] = [
      yield* keys.create(full, nowMs),
      yield* keys.create({ ...full, expiresAtMs: nowMs - hourMs }, nowMs),
      yield* keys.create(full, nowMs),
    ]
    yield* keys.revoke(revoked.id, nowMs)
    made = {
      admin,
      expired,
      revoked,
      make: (rights) => Effect.runPromiseWith(context)(keys.create({ ...full, ...rights }, nowMs)),
    }
  }).pipe(Effect.orDie)
  return withService({ ...options, before }, async (service) => {
    if (made === undefined) throw new Error("the keys were not made")
    await use({ ...service, keys: made })
  })
}

const bearer = ({ text }: Pick<ShownKey, "text">) => ({ authorization: `Bearer ${text}` })

const sendTo = (service: RunningService, path: string, body: unknown, headers: Record<string, string> = {}) =>
  service.fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })

const outcomeOf = ({ status, json }: Answered): string => `${status} ${json?.code ?? "answered"}`

// biome-ignore lint/suspicious/noExplicitAny: the document is read by paths that every operation has.
const examplesIn = (document: any): ReadonlyMap<string, unknown> =>
  new Map(
    Object.entries<Record<string, never>>(document.paths).flatMap(([path, { post }]) =>
      post === undefined
        ? []
        : [[path, (post as typeof document).requestBody.content["application/json"].example]],
    ),
  )

const endpoints = contractEndpoints(defaultLimits)
const needsKey = endpoints.filter(({ needsNoKey }) => needsNoKey !== true)

describe("every call that needs a key", () => {
  test(
    "about a namespace is refused for a key of other namespaces, by name and by pattern",
    () =>
      withKeys(async (service) => {
        const { make } = service.keys
        const [own, prefix, other] = [
          await make({ namespaces: ["billing"] }),
          await make({ namespaces: ["bill*"] }),
          await make({ namespaces: ["billing2", "other-*"] }),
        ]
        const examples = examplesIn((await service.fetch("/openapi.json")).json)
        const named = needsKey.filter(({ path }) => {
          const { filter = {}, ...body } = examples.get(path) as { readonly filter?: object }
          return Object.hasOwn({ ...filter, ...body }, "namespace")
        })
        expect(named.length).toBeGreaterThan(10)
        for (const { path } of named) {
          const refused = await sendTo(service, path, examples.get(path), bearer(other))
          expect([path, outcomeOf(refused)]).toEqual([path, "403 forbidden"])
          expect(refused.json.detail).toContain("in the namespace billing.")
          for (const key of [own, prefix]) {
            const { status } = await sendTo(service, path, examples.get(path), bearer(key))
            expect([path, status === 401 || status === 403]).toEqual([path, false])
          }
        }
        for (const path of ["/api/v1/service/pause", "/api/v1/keys/list", "/api/v1/messages/list"]) {
          expect([path, outcomeOf(await sendTo(service, path, {}, bearer(own)))]).toEqual([
            path,
            "403 forbidden",
          ])
        }
      }),
    60_000,
  )
})

test("a key that ends while the body of its request arrives is refused", () =>
  withKeys(async (service) => {
    const { make, admin } = service.keys
    const ending = await make({ label: "ending" })
    const body = JSON.stringify({ label: "x", role: "admin" })
    const socket = connect(service.port, "127.0.0.1")
    const answered = new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(String(bytes))))
    const head = [
      "POST /api/v1/keys/create HTTP/1.1",
      "host: 127.0.0.1",
      "content-type: application/json",
      `authorization: Bearer ${ending.text}`,
      `content-length: ${body.length}`,
    ]
    socket.write(`${head.join("\r\n")}\r\n\r\n${body.slice(0, 5)}`)
    // The service has read the head when it answers a later request.
    expect((await sendTo(service, "/api/v1/keys/self", {}, bearer(ending))).status).toBe(200)
    await sendTo(service, "/api/v1/keys/revoke", { id: ending.id }, bearer(admin))
    socket.write(body.slice(5))
    expect(await answered).toStartWith("HTTP/1.1 401 ")
    socket.destroy()
  }))

describe("timers of several namespaces", () => {
  const timer = (namespace: string) => ({
    namespace,
    timerId: "t",
    delay: "1h",
    callbackUrl: "https://h.example/",
  })

  test("createMany checks each timer by itself", () =>
    withKeys(async (service) => {
      const key = await service.keys.make({ actions: ["timers.write"], namespaces: ["billing"] })
      const timers = [timer("billing"), timer("other"), { ...timer("billing"), timerId: "u" }]
      const { status, json } = await service.call("createMany", { timers }, bearer(key))
      expect(status).toBe(200)
      expect(
        json.results.map(
          (item: { result?: string; problem?: { code: string } }) => item.result ?? item.problem?.code,
        ),
      ).toEqual(["created", "forbidden", "created"])
      expect([await service.pendingIn("billing"), await service.pendingIn("other")]).toEqual([2, 0])
    }))

  test("a list needs every namespace that it names", () =>
    withKeys(async (service) => {
      const key = await service.keys.make({ actions: ["timers.read"], namespaces: ["team-*", "billing"] })
      const list = async (scope: object) => (await service.call("list", scope, bearer(key))).status
      expect(await list({ namespaces: ["team-a", "team-b*", "billing"] })).toBe(200)
      for (const namespaces of [["billing", "other"], ["tea*"], ["billing*"]]) {
        expect([namespaces, await list({ namespaces })]).toEqual([namespaces, 403])
      }
    }))

  test("in calls that only read, * means all namespaces of the key, by name and by pattern", () =>
    withKeys(async (service) => {
      const { admin, make } = service.keys
      const timers = ["billing", "billing2", "other", "team-a", "team-b", "tea"].map(timer)
      expect((await service.call("createMany", { timers }, bearer(admin))).status).toBe(200)
      const readable = async (rights: Partial<NewKey>): Promise<ReadonlyArray<string> | string> => {
        const key = bearer(await make({ actions: ["timers.read"], ...rights }))
        const ask = async (call: string, body: object) => {
          const { status, json } = await service.call(call, body, key)
          return status === 200 ? json : { refused: `${status} ${json.code}` }
        }
        const everywhere = { namespaces: ["*"] }
        const span = { from: new Date().toISOString(), until: new Date(Date.now() + 7_200_000).toISOString() }
        const { timers: listed, refused } = await ask("list", everywhere)
        if (refused !== undefined) return refused
        const { count } = await ask("count", everywhere)
        const { total } = await ask("histogram", { filter: { ...everywhere, ...span }, buckets: 1 })
        const withTag = await ask("count", { ...everywhere, idPrefix: "t", states: ["pending", "dead"] })
        expect([count, total, withTag.count]).toEqual([listed.length, listed.length, listed.length])
        return listed.map(({ namespace }: { namespace: string }) => namespace).toSorted()
      }
      expect(await readable({ namespaces: ["billing"] })).toEqual(["billing"])
      expect(await readable({ namespaces: ["team-*", "billing"] })).toEqual(["billing", "team-a", "team-b"])
      expect(await readable({ namespaces: ["nobody-*"] })).toEqual([])
      expect(await readable({})).toHaveLength(6)
      expect(await readable({ actions: ["namespaces.read"], namespaces: ["billing"] })).toBe("403 forbidden")
    }))

  test("a cursor of a list with * goes on in the namespaces of the same key, and not in those of another", () =>
    withKeys(async (service) => {
      const { admin, make } = service.keys
      const timers = ["team-a", "team-b", "other"].map(timer)
      expect((await service.call("createMany", { timers }, bearer(admin))).status).toBe(200)
      const team = bearer(await make({ actions: ["timers.read"], namespaces: ["team-*"] }))
      const other = bearer(await make({ actions: ["timers.read"], namespaces: ["other"] }))
      const page = { namespaces: ["*"], limit: 1 }
      const { nextCursor: cursor } = (await service.call("list", page, team)).json
      expect((await service.call("list", { ...page, cursor }, team)).json.timers).toHaveLength(1)
      expect((await service.call("list", { ...page, cursor }, other)).json.code).toBe("invalidRequest")
    }))

  test("a list of namespaces shows only those of the key, on all its pages, and no cursor names another", () =>
    withKeys(async (service) => {
      const { admin, make } = service.keys
      for (const namespace of ["aa", "billing", "team-a", "team-b", "team", "zz"]) {
        await service.call("create", timer(namespace), bearer(admin))
      }
      const key = await make({ actions: ["namespaces.read"], namespaces: ["team-*", "billing"] })
      const seen: Array<string> = []
      let cursor: string | undefined
      do {
        const { json } = await sendTo(
          service,
          "/api/v1/namespaces/list",
          { limit: 1, ...(cursor && { cursor }) },
          bearer(key),
        )
        seen.push(...json.namespaces.map(({ namespace }: { namespace: string }) => namespace))
        cursor = json.nextCursor
        if (cursor !== undefined)
          expect(Buffer.from(cursor, "base64url").toString()).toContain(seen.at(-1) ?? "")
      } while (cursor !== undefined)
      expect(seen).toEqual(["billing", "team-a", "team-b"])
    }))

  test("a list of namespaces by prefix never shows one that the key does not reach", () =>
    withKeys(async (service) => {
      const { admin, make } = service.keys
      for (const namespace of ["billing", "billing-2", "team-a", "team-b", "team", "zz"]) {
        await service.call("create", timer(namespace), bearer(admin))
      }
      const key = await make({ actions: ["namespaces.read"], namespaces: ["team-*", "billing"] })
      const listed = async (prefix: string) => {
        const path = "/api/v1/namespaces/list"
        const { json } = await sendTo(service, path, { prefix }, bearer(key))
        return json.namespaces.map(({ namespace }: { namespace: string }) => namespace)
      }
      expect(await listed("t")).toEqual(["team-a", "team-b"])
      expect(await listed("team-b")).toEqual(["team-b"])
      expect(await listed("bill")).toEqual(["billing"])
      expect(await listed("z")).toEqual([])
    }))
})

describe("payloads", () => {
  const timer = {
    namespace: "billing",
    timerId: "t",
    delay: "1h",
    target: { type: "webhook", url: "https://h.example/?t=credential", headers: { "x-token": "credential" } },
    onDead: { type: "webhook", url: "https://h.example/?t=credential", headers: { "x-token": "credential" } },
    payload: { card: "personal" },
  }

  test("and headers are hidden from a key without payload.read, in every answer", () =>
    withKeys(async (service) => {
      const { admin, make } = service.keys
      const actions = ["timers.read", "timers.write", "namespaces.read", "namespaces.write"] as const
      const [blind, seeing] = [await make({ actions }), await make({ actions: [...actions, "payload.read"] })]
      const answersFor = async (key: ShownKey) => {
        const texts: Array<string> = []
        const ask = async (path: string, body: unknown) =>
          texts.push((await sendTo(service, `/api/v1/${path}`, body, bearer(key))).text)
        await ask("timers/create", timer)
        await ask("timers/create", timer)
        await ask("timers/get", { namespace: "billing", timerId: "t" })
        await ask("timers/list", { namespace: "billing", include: ["payload"] })
        await ask("timers/lives", { namespace: "billing", timerId: "t" })
        await ask("timers/update", { namespace: "billing", timerId: "t", delay: "2h" })
        await ask("namespaces/put", { namespace: "billing", maxPending: 10 })
        await ask("namespaces/get", { namespace: "billing" })
        await ask("namespaces/list", {})
        return texts
      }
      await sendTo(
        service,
        "/api/v1/namespaces/put",
        { namespace: "billing", onDead: timer.onDead },
        bearer(admin),
      )
      for (const text of await answersFor(blind)) expect(text).not.toMatch(/personal|credential/)
      expect((await answersFor(seeing)).filter((text) => /credential/.test(text)).length).toBe(9)
    }))

  test("cannot be sent elsewhere by a key that cannot see them", () =>
    withKeys(async (service) => {
      const { make, admin } = service.keys
      await service.call("create", timer, bearer(admin))
      const blind = bearer(await make({ actions: ["timers.write", "namespaces.write"] }))
      const key = { namespace: "billing", timerId: "t" }
      const elsewhere = { type: "webhook", url: "https://evil.example/" }
      for (const change of [{ target: elsewhere }, { callbackUrl: elsewhere.url }, { onDead: elsewhere }]) {
        const refused = await service.call("update", { ...key, ...change }, blind)
        expect([change, outcomeOf(refused)]).toEqual([change, "403 forbidden"])
      }
      // It would get the last answer of the receiver, with the payload or without it.
      const withOwn = { ...key, onDead: elsewhere, payload: { own: true } }
      expect(outcomeOf(await service.call("update", withOwn, blind))).toBe("403 forbidden")
      const put = { namespace: "billing", onDead: elsewhere }
      expect(outcomeOf(await sendTo(service, "/api/v1/namespaces/put", put, blind))).toBe("403 forbidden")
      const own = { ...key, target: elsewhere, payload: { own: true } }
      expect((await service.call("update", own, blind)).status).toBe(200)
    }))

  test("stay in the timer if a key that cannot see them changes it", () =>
    withKeys(async (service) => {
      const { make, admin } = service.keys
      await service.call("create", timer, bearer(admin))
      const blind = await make({ actions: ["timers.write"] })
      await service.call("update", { namespace: "billing", timerId: "t", delay: "2h" }, bearer(blind))
      const { json } = await service.call("get", { namespace: "billing", timerId: "t" }, bearer(admin))
      expect(json.timer).toMatchObject({ payload: timer.payload, target: timer.target, onDead: timer.onDead })
    }))
})

describe("the paths beside the API", () => {
  test("metrics need metrics.read, unless they are open", async () => {
    await withKeys(async (service) => {
      const { make, admin } = service.keys
      const get = async (headers: Record<string, string>) =>
        (await service.fetch("/metrics", { headers })).status
      expect(await get({})).toBe(401)
      expect(await get(bearer(await make({ actions: ["timers.read"] })))).toBe(403)
      expect(await get(bearer(await make({ actions: ["metrics.read"], namespaces: ["billing"] })))).toBe(403)
      expect([
        await get(bearer(await make({ actions: ["metrics.read"] }))),
        await get(bearer(admin)),
      ]).toEqual([200, 200])
    })
    await withKeys(async (service) => expect((await service.fetch("/metrics")).status).toBe(200), {
      metricsAreOpen: true,
    })
  })

  test("health, the document and the reference need no key, and strangers see only the status", () =>
    withKeys(async (service) => {
      for (const path of ["/openapi.json", "/docs/api", "/health/live"]) {
        expect([path, (await service.fetch(path)).status]).toEqual([path, 200])
      }
      service.service.close()
      const [stranger, known] = [
        await service.fetch("/health/ready"),
        await service.fetch("/health/ready", { headers: bearer(service.keys.admin) }),
      ]
      expect([stranger.status, stranger.json]).toEqual([503, { status: "notReady" }])
      expect(known.json.reasons).toEqual([expect.stringContaining("draining")])
    }))
})

describe("keys about keys", () => {
  const post = (service: RunningService, path: string, body: unknown, key: ShownKey) =>
    sendTo(service, `/api/v1/keys/${path}`, body, bearer(key))

  test("no key can make, rotate or revoke a key with more rights than its own", () =>
    withKeys(async (service) => {
      const { admin, make } = service.keys
      const manager = await make({ actions: ["keys.manage", "timers.read"] })
      const asked = [
        ["create", { label: "x", role: "admin" }],
        ["create", { label: "x", actions: ["timers.write"] }],
        ["rotate", { id: admin.id }],
        ["revoke", { id: admin.id }],
      ] as const
      for (const [path, body] of asked) {
        expect([path, outcomeOf(await post(service, path, body, manager))]).toEqual([path, "403 forbidden"])
      }
      expect((await post(service, "self", {}, admin)).status).toBe(200)
      const made = await post(
        service,
        "create",
        { label: "x", actions: ["timers.read"], namespaces: ["b"] },
        manager,
      )
      expect([made.status, made.json.key.madeBy]).toEqual([200, `anna (${manager.id})`])
    }))

  test("a key for a part of the namespaces cannot make keys at all", () =>
    withKeys(async (service) => {
      const part = await service.keys.make({
        actions: ["keys.manage", "timers.read"],
        namespaces: ["team-*"],
      })
      const asked = { label: "x", actions: ["timers.read"], namespaces: ["team-a"] }
      expect(outcomeOf(await post(service, "create", asked, part))).toBe("403 forbidden")
    }))

  test("an action on the whole service needs all namespaces, so that no key is useless", () =>
    withKeys(async (service) => {
      const asked = { label: "x", actions: ["timers.read", "metrics.read"], namespaces: ["billing"] }
      const { status, json } = await post(service, "create", asked, service.keys.admin)
      expect([status, json.errors]).toEqual([400, [{ pointer: "/actions/1", detail: expect.any(String) }]])
    }))

  test("a key that ends can only make and rotate keys that end no later", () =>
    withKeys(async (service) => {
      const { admin, make } = service.keys
      const ending = await make({ expiresAtMs: Date.now() + hourMs })
      expect(outcomeOf(await post(service, "create", { label: "x", role: "app" }, ending))).toBe(
        "403 forbidden",
      )
      expect(outcomeOf(await post(service, "rotate", { id: admin.id }, ending))).toBe("403 forbidden")
      const within = { label: "x", role: "app", expiresIn: "30m" }
      expect((await post(service, "create", within, ending)).status).toBe(200)
    }))

  test("self says who the caller is, and needs no action", () =>
    withKeys(async (service) => {
      const key = await service.keys.make({ label: "app", actions: ["timers.read"], namespaces: ["billing"] })
      const { json } = await post(service, "self", {}, key)
      expect(json).toEqual({
        name: "app",
        keyId: key.id,
        keysRequired: true,
        actions: ["timers.read"],
        namespaces: ["billing"],
      })
    }))

  test("whoever has the text of a key can end it, and a guess ends nothing", () =>
    withKeys(async (service) => {
      const { make, admin } = service.keys
      const leaked = await make({ label: "leaked" })
      const end = (apiKey: string) => sendTo(service, "/api/v1/keys/revokeLeaked", { apiKey })
      expect(outcomeOf(await end(makeKeyText(leaked.id).text))).toBe("404 keyNotFound")
      expect((await post(service, "self", {}, leaked)).status).toBe(200)
      expect((await end(leaked.text)).json).toEqual({ result: "revoked" })
      expect((await end(leaked.text)).json).toEqual({ result: "alreadyRevoked" })
      expect((await post(service, "self", {}, leaked)).status).toBe(401)
      expect((await post(service, "self", {}, admin)).status).toBe(200)
    }))

  test("wrong texts count as wrong keys, also in the body of a call without a key", () =>
    withKeys(async (service) => {
      const { text } = makeKeyText()
      // All services of this process share their counters.
      const failures = async () => {
        const metrics = await service.fetch("/metrics", { headers: bearer(service.keys.admin) })
        return Number(/timer_auth_failures_total\{reason="wrong"\} (\d+)/.exec(metrics.text)?.[1])
      }
      const before = await failures()
      for (const path of ["keys/revokeLeaked", "sessions/create"]) {
        await sendTo(service, `/api/v1/${path}`, { apiKey: text })
      }
      expect(await failures()).toBe(before + 2)
    }))

  test("a key that ends within 14 days is announced in every answer", () =>
    withKeys(async (service) => {
      const { make } = service.keys
      const dayMs = 24 * hourMs
      const [soon, later] = [
        await make({ expiresAtMs: Date.now() + 13 * dayMs }),
        await make({ expiresAtMs: Date.now() + 15 * dayMs }),
      ]
      expect((await post(service, "self", {}, soon)).headers.get("punctual-key-expires")).toMatch(/^\d{4}-/)
      expect((await post(service, "self", {}, later)).headers.get("punctual-key-expires")).toBeNull()
    }))
})

describe("a session", () => {
  test("has no rights in any call from other sites", () =>
    withKeys(async (service) => {
      const examples = examplesIn((await service.fetch("/openapi.json")).json)
      const begun = await sendTo(service, "/api/v1/sessions/create", { apiKey: service.keys.admin.text })
      const cookie = (begun.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
      for (const { path } of needsKey) {
        const refused = await sendTo(service, path, examples.get(path), { cookie })
        expect([path, outcomeOf(refused)]).toEqual([path, "403 forbidden"])
      }
    }))

  test("is a cookie that pages of the service can use, and pages of others cannot", () =>
    withKeys(
      async (service) => {
        const { admin } = service.keys
        const begun = await sendTo(service, "/api/v1/sessions/create", { apiKey: admin.text })
        const cookie = (begun.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
        expect(begun.text).not.toContain(admin.text)
        const self = (headers: Record<string, string>) =>
          sendTo(service, "/api/v1/keys/self", {}, { cookie, ...headers })
        expect((await self({ "sec-fetch-site": "same-origin" })).json.name).toBe("anna")
        const host = `127.0.0.1:${service.port}`
        expect((await self({ host, origin: `http://${host}` })).json?.name).toBe("anna")
        for (const headers of [{}, { "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "none" }]) {
          expect([headers, (await self(headers)).status]).toEqual([headers, 403])
        }
        expect((await self({ origin: "http://evil.example" })).status).toBe(403)
        // Pages of a listed origin may call the service, but only with a key.
        expect((await self({ origin: "http://listed.example" })).status).toBe(403)
        const ended = await sendTo(service, "/api/v1/sessions/end", {}, { cookie })
        expect(ended.headers.get("set-cookie")).toContain("Max-Age=0")
      },
      { guard: { corsOrigins: ["http://listed.example"] } },
    ))

  test("works behind a proxy that ends TLS and changes the host, and its cookie is then only for TLS", () =>
    withKeys(
      async (service) => {
        const proxied = {
          host: "punctual.internal:8080",
          "x-forwarded-host": "timers.example.com",
          "x-forwarded-proto": "https",
          "x-forwarded-for": "203.0.113.7",
          origin: "https://timers.example.com",
        }
        const apiKey = service.keys.admin.text
        const begun = await sendTo(service, "/api/v1/sessions/create", { apiKey }, proxied)
        const header = begun.headers.get("set-cookie") ?? ""
        expect(header).toEndWith("; Secure")
        expect(header).toStartWith("punctual_session_443=")
        const cookie = header.split(";")[0] ?? ""
        const self = (more: Record<string, string>) =>
          sendTo(service, "/api/v1/keys/self", {}, { ...proxied, cookie, ...more })
        expect((await self({})).json.name).toBe("anna")
        expect((await self({ origin: "https://evil.example" })).status).toBe(403)
        // Another node behind the same proxy gets another Host.
        expect((await self({ host: "other.internal:9090" })).json.name).toBe("anna")
      },
      { guard: { trustedProxies: new AddressRanges([["127.0.0.0", 8]]) } },
    ))

  test("has the port that the browser shows in the name of its cookie, and is not seen on another port", () =>
    withKeys(async (service) => {
      const apiKey = service.keys.admin.text
      const begun = async (host: string) => {
        const { headers } = await sendTo(service, "/api/v1/sessions/create", { apiKey }, { host })
        return (headers.get("set-cookie") ?? "").split(";")[0] ?? ""
      }
      const selfAt = async (host: string, cookie: string) => {
        const headers = { host, cookie, origin: `http://${host}` }
        return (await sendTo(service, "/api/v1/keys/self", {}, headers)).status
      }
      const [usual, first, second] = [
        await begun("timers.example.com"),
        await begun("timers.example.com:8081"),
        await begun("[::1]:8082"),
      ]
      const names = [usual, first, second].map((cookie) => cookie.split("=")[0])
      expect(names).toEqual(["punctual_session_80", "punctual_session_8081", "punctual_session_8082"])
      expect(await selfAt("timers.example.com", usual)).toBe(200)
      expect(await selfAt("timers.example.com:8081", `${usual}; ${first}; ${second}`)).toBe(200)
      expect(await selfAt("timers.example.com:8083", `${usual}; ${first}; ${second}`)).toBe(401)
      // Without a trusted proxy nobody can choose the name by this header.
      const forwarded = await sendTo(
        service,
        "/api/v1/sessions/create",
        { apiKey },
        { host: "timers.example.com:8081", "x-forwarded-host": "other.example.com:9999" },
      )
      expect(forwarded.headers.get("set-cookie")).toStartWith("punctual_session_8081=")
    }))

  test("cannot be had with a wrong key", () =>
    withKeys(async (service) => {
      for (const { text } of [makeKeyText(), service.keys.expired, service.keys.revoked]) {
        const refused = await sendTo(service, "/api/v1/sessions/create", { apiKey: text })
        expect([outcomeOf(refused), refused.headers.get("set-cookie")]).toEqual(["401 unauthorized", null])
      }
    }))

  test("cannot be had with a key that has ended, and the answer says why", () =>
    withKeys(async (service) => {
      const { expired, revoked } = service.keys
      const detailOf = async (apiKey: string) =>
        (await sendTo(service, "/api/v1/sessions/create", { apiKey })).json.detail
      expect(await detailOf(makeKeyText().text)).toBe("The key is not valid.")
      expect(await detailOf(expired.text)).toStartWith("The key has expired.")
      expect(await detailOf(revoked.text)).toStartWith("The key has been revoked.")
      // Somebody who only knows the public id learns nothing.
      const guessed = `pnct_${revoked.id}_${makeKeyText().text.split("_")[2]}`
      expect(await detailOf(guessed)).toBe("The key is not valid.")
    }))
})
