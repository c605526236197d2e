// What operators do is recorded: each audited call that changed something leaves exactly one record, and records contain
// no secrets.
import { describe, expect, test } from "bun:test"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Effect } from "effect"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { StoreError } from "../../src/ports/TimerStore.ts"
import { refused, succeeded } from "./answers.ts"
import { type RunningService, type ServiceOptions, withService } from "./ServiceFixture.ts"

const begin = "2030-01-01T00:00:00.000Z"
const soon = "2030-01-01T00:00:00.500Z"
const now = "2030-01-01T00:00:01.000Z"
const namespace = "billing"
const callbackUrl = "http://h.example/"

/** Whatever is asked for, the bus has the message. */
const messages: Partial<UndeliverableMessages["Service"]> = {
  replay: () => Effect.succeed("replayed" as const),
  discard: () => Effect.succeed("discarded" as const),
}

const options: ServiceOptions = {
  clockStartMs: Date.parse(begin),
  deliver: () => Effect.succeed<Delivery>({ kind: "dead", reason: "refused", error: "no" }),
  messages: messages as UndeliverableMessages["Service"],
  secretKeys: [new Uint8Array(32)],
}

const recordsOf = async ({ post }: RunningService, query: object = {}) => {
  const answered = await post("audit/list", query)
  succeeded("audit/list", answered)
  return answered.json.records
}

const createTimers = ({ call }: RunningService) =>
  call("createMany", {
    timers: [
      { namespace, timerId: "a", executeAt: soon, callbackUrl, payload: "a payload" },
      { namespace, timerId: "b", executeAt: soon, callbackUrl },
      { namespace, timerId: "c", executeAt: "2031-01-01T00:00:00Z", callbackUrl },
    ],
  })

const paused = { paused: true, since: now, kind: "asked", reason: "a move" }
const filter = { idPrefix: "c", until: "2032-01-01T00:00:00.000Z" }

/** For each audited call its body and its record. The calls are made in this order. */
const audited: ReadonlyArray<readonly [call: string, body: object, record: object]> = [
  ["clock.advance", { by: "1s" }, { before: { now: begin }, after: { now }, count: 2 }],
  [
    "timers.discard",
    { namespace, timerId: "b", reason: "a test order" },
    { about: { namespace, timerId: "b", reason: "a test order" }, count: 1 },
  ],
  ["timers.replay", { namespace, all: true }, { about: { namespace, all: true }, count: 1 }],
  ["timers.deleteMany", { namespace, filter }, { about: { namespace, filter }, count: 1 }],
  [
    "namespaces.put",
    { namespace, maxPending: 5, paused: true, pauseReason: "a move" },
    {
      about: { namespace },
      before: { paused: false },
      after: { maxPending: 5, paused: true, pausedSince: now, pauseReason: "a move" },
    },
  ],
  ["service.pause", { reason: "a move" }, { before: { paused: false }, after: paused }],
  ["service.resume", {}, { before: paused, after: { paused: false } }],
  ["breakers.reset", { host: "h:80" }, { about: { host: "h:80", node: expect.any(String) }, count: 0 }],
  ["messages.replay", { namespace, id: "1" }, { about: { namespace, id: "1" }, count: 1 }],
  ["messages.discard", { namespace, id: "1" }, { about: { namespace, id: "1" }, count: 1 }],
]

test("each audited call leaves exactly one record: who, when, from where, and what", () =>
  withService(options, async (service) => {
    await createTimers(service)
    const declared = contractEndpoints(defaultLimits).filter(
      // The records of keys are tested below, those of jobs in bulk.test.ts.
      ({ group, isAudited }) => isAudited === true && group !== "keys" && group !== "bulk",
    )
    expect(audited.map(([call]) => call).sort()).toEqual(
      declared.map(({ group, name }) => `${group}.${name}`).sort(),
    )
    for (const [index, [action, body, record]] of audited.entries()) {
      const answered = await service.fetch(`/api/v1/${action.replace(".", "/")}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-request-id": `of-${action}` },
        body: JSON.stringify(body),
      })
      expect([action, answered.status, answered.text]).toEqual([action, 200, answered.text])
      const records = await recordsOf(service)
      expect([action, records.length]).toEqual([action, index + 1])
      expect(records[0]).toEqual({
        id: expect.any(String),
        at: now,
        action,
        outcome: "done",
        caller: "anonymous",
        address: "127.0.0.1",
        requestId: `of-${action}`,
        ...record,
      })
    }
  }))

test("each change of a key leaves exactly one record, with the key of the caller and without the text of any key", () =>
  withService(options, async (service) => {
    let apiKey: string | undefined
    const texts: Array<string> = []
    const send = async (path: string, body: object) => {
      const { status, text, json } = await service.fetch(`/api/v1/${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify(body),
      })
      expect([path, status, text]).toEqual([path, 200, text])
      if (json.apiKey !== undefined) texts.push(json.apiKey)
      return json
    }
    const admin = await send("keys/create", { label: "ops", role: "admin" })
    apiKey = admin.apiKey
    const made = await send("keys/create", { label: "app", role: "app", namespaces: [namespace] })
    const { id } = made.key
    const rotated = await send("keys/rotate", { id, grace: "1h" })
    await send("keys/revokeLeaked", { apiKey: rotated.apiKey })
    await send("keys/revokeLeaked", { apiKey: rotated.apiKey })
    const other = await send("keys/create", { label: "other", role: "viewer" })
    await send("keys/revoke", { id: other.key.id })
    await send("keys/confirm", { all: true })
    await send("keys/list", {})
    // Without a key, and with a key that may not do this.
    const { apiKey: viewing } = await send("keys/create", { label: "viewer", role: "viewer" })
    refused(await service.post("service/pause", {}), "unauthorized")
    const forbidden = await service.fetch("/api/v1/service/pause", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${viewing}` },
      body: "{}",
    })
    refused(forbidden, "forbidden")
    const { records } = await send("audit/list", {})
    const byOps = { caller: "ops", keyId: admin.key.id, address: "127.0.0.1" }
    expect(records).toMatchObject([
      { ...byOps, action: "keys.create", about: { label: "viewer" } },
      { ...byOps, action: "keys.confirm", about: { ids: [] }, count: 0 },
      { ...byOps, action: "keys.revoke", about: { id: other.key.id, label: "other" } },
      { ...byOps, action: "keys.create" },
      { caller: "anonymous", address: "127.0.0.1", action: "keys.revokeLeaked", about: { id, label: "app" } },
      { ...byOps, action: "keys.rotate", about: { id }, after: { oldSecretUntil: expect.any(String) } },
      { ...byOps, action: "keys.create", about: { id, label: "app" }, after: { namespaces: [namespace] } },
      { caller: "anonymous", action: "keys.create", about: { id: admin.key.id, label: "ops" } },
    ])
    expect(records.length).toBe(8)
    // A rotation changes no right, so the record names none.
    expect(Object.keys(records[5].after)).toEqual(["oldSecretUntil"])
    for (const text of texts) expect(JSON.stringify(records)).not.toContain(text.slice(16, 40))
  }))

test("calls that are refused, that change nothing or that only read leave no record", () =>
  withService(options, async (service) => {
    await createTimers(service)
    const { call, post } = service
    refused(await post("namespaces/put", { namespace, maxPending: -1 }), "invalidRequest")
    refused(
      await post("namespaces/put", { namespace, onDead: { type: "webhook", url: "ftp://x" } }),
      "invalidRequest",
    )
    refused(await call("discard", { namespace, timerId: "none" }), "timerNotFound")
    refused(await post("clock/advance", { to: "2029-01-01T00:00:00Z" }), "invalidRequest")
    succeeded("replay", await call("replay", { namespace, all: true, dryRun: true }))
    succeeded("discard", await call("discard", { namespace, all: true, dryRun: true }))
    succeeded("delete", await call("delete", { namespace, timerId: "c" }))
    succeeded("service/get", await post("service/get", {}))
    expect(await recordsOf(service)).toEqual([])
  }))

test("a call that fails without a known result leaves a record that says so", () => {
  const broken = new StoreError({ message: "the disk is slow", isFatal: false })
  const scheduler = { replay: () => Effect.fail(broken), discard: () => Effect.fail(broken) }
  return withService({ ...options, scheduler }, async (service) => {
    refused(await service.call("replay", { namespace, all: true }), "overloaded")
    refused(await service.call("discard", { namespace, all: true, dryRun: true }), "overloaded")
    expect(await recordsOf(service)).toMatchObject([
      { action: "timers.replay", outcome: "unknown", about: { namespace, all: true } },
    ])
  })
})

test("records contain no secrets: secrets by fingerprint, header values and queries of URLs not at all", () =>
  withService(options, async (service) => {
    const secret = `whsec_${Buffer.from("a secret that nobody may see, ever").toString("base64")}`
    const onDead = {
      type: "webhook",
      url: "https://user.example/hook?token=query-secret",
      headers: { authorization: "Bearer header-secret" },
    }
    const put = { namespace, webhookSecrets: [secret], onDead }
    const { settings } = succeeded("namespaces/put", await service.post("namespaces/put", put))
    await service.post("namespaces/put", { namespace, webhookSecrets: null, onDead: null })
    const records = await recordsOf(service)
    const shown = {
      webhookSecrets: settings.webhookSecrets,
      onDead: expect.objectContaining({
        url: "https://user.example/hook?…",
        headers: { authorization: "…" },
      }),
    }
    expect(records).toMatchObject([
      { before: shown, after: { webhookSecrets: [] } },
      { before: { webhookSecrets: [] }, after: shown },
    ])
    const text = JSON.stringify(records)
    for (const hidden of [secret, secret.slice(6), "nobody may see", "query-secret", "header-secret"])
      expect(text).not.toContain(hidden)
  }))

describe("audit/list", () => {
  test("filters by call, by group and by time, and answers in pages", () =>
    withService(options, async (service) => {
      const { post } = service
      await post("service/pause", {})
      await post("clock/advance", { by: "1s" })
      await post("service/resume", {})
      const actionsOf = async (query: object) =>
        (await recordsOf(service, query)).map(({ action }: { readonly action: string }) => action)
      expect(await actionsOf({ action: "service" })).toEqual(["service.resume", "service.pause"])
      expect(await actionsOf({ action: "service.pause" })).toEqual(["service.pause"])
      expect(await actionsOf({ since: now })).toEqual(["service.resume", "clock.advance"])
      expect(await actionsOf({ until: now })).toEqual(["service.pause"])
      expect(await actionsOf({ key: "somebody" })).toEqual([])
      const { json: first } = await post("audit/list", { limit: 2 })
      expect(first.records.length).toBe(2)
      const { json: second } = await post("audit/list", { limit: 2, cursor: first.nextCursor })
      expect(second).toEqual({ records: [expect.objectContaining({ action: "service.pause" })] })
    }))

  test("refuses a call that is not audited, and a cursor that it never gave", () =>
    withService(options, async ({ post }) => {
      const wrong = [
        [{ action: "service.write" }, "/action"],
        [{ action: "timers.create" }, "/action"],
        [{ cursor: "abc" }, "/cursor"],
        [{ cursor: Buffer.from("1:~").toString("base64url") }, "/cursor"],
      ] as const
      for (const [body, pointer] of wrong)
        expect(refused(await post("audit/list", body), "invalidRequest").errors).toMatchObject([{ pointer }])
    }))
})

describe("the id of a request", () => {
  const idFor = async ({ fetch }: RunningService, path: string, given?: string) =>
    (await fetch(path, given === undefined ? {} : { headers: { "x-request-id": given } })).headers.get(
      "x-request-id",
    )

  test("is what the client gave, if that is 1 to 128 visible characters", () =>
    withService(options, async (service) => {
      for (const given of ["a", "~!{}\"'", "x".repeat(128)])
        expect(await idFor(service, "/health/live", given)).toBe(given)
      for (const given of ["x".repeat(129), "a b", "a, b", "\u00e9"])
        expect(await idFor(service, "/health/live", given)).toMatch(/^[\w-]{8}-[0-9a-z]+$/)
    }))

  test("is in every answer, also in refusals, and no two requests have the same", () =>
    withService(options, async (service) => {
      const paths = ["/health/live", "/nothing", "/api/v1/timers/create", "/docs/api", "/docs/api"]
      const ids = await Promise.all(paths.map((path) => idFor(service, path)))
      expect(ids.filter((id) => id === null)).toEqual([])
      expect(new Set(ids).size).toBe(paths.length)
    }))
})
