// The laws of the CallStore port as one suite that every adapter runs.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { type CallKey, callStates } from "../src/domain/ServiceCall.ts"
import { CallStore, type ListAsked, type NewAttempt } from "../src/ports/CallStore.ts"
import { attemptLaws } from "./CallStoreAttempts.suite.ts"
import {
  type CallStoreFixture,
  lawsOf,
  type StoreService,
  sampleChange,
  sampleKey,
  sampleRequest,
  submitChange,
  typesInOutbox,
} from "./CallStoreFixture.ts"
import { callStoreModelSuite } from "./CallStoreModel.suite.ts"
import { callIn, now, sampleOutcomes } from "./sampleCalls.ts"

export const callStoreSuite = (fixture: CallStoreFixture): void => {
  describe(`CallStore: ${fixture.name}`, () => {
    describe("calls", () => callLaws(fixture))
    describe("the outbox", () => outboxLaws(fixture))
    describe("attempts", () => attemptLaws(fixture))
    describe("lists", () => listLaws(fixture))
    describe("the sweep and pruning", () => keepingLaws(fixture))
    describe("tenants", () => tenantLaws(fixture))
    callStoreModelSuite(fixture)
  })
}

const callLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)

  law("a call is inserted once, and a second submission returns what is there", (store) =>
    Effect.gen(function* () {
      const first = sampleChange("Submitted", {}, ["Submit"])
      expect(yield* submitChange(store, first)).toBeUndefined()
      const second = sampleChange("Submitted", { name: "Other" }, ["Submit"])
      expect((yield* submitChange(store, second))?.call.name).toBe(first.record.call.name)
      expect(yield* typesInOutbox(store)).toEqual(["Submit"])
      expect(yield* store.find(sampleKey)).toEqual(first.record)
      expect(yield* store.find({ ...sampleKey, tenantId: "other" })).toBeUndefined()
      expect(yield* submitChange(store, sampleChange("Submitted", { tenantId: "other" }))).toBeUndefined()
    }),
  )

  law("a commit changes the call, its timeline and its messages together, or nothing", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Submitted", {}, ["Submit"]))
      expect(yield* store.commit(7, sampleChange("Scheduled", { version: 8 }, ["Never"]))).toBe(false)
      expect((yield* store.find(sampleKey))?.call.state).toBe("Submitted")
      const change = sampleChange("Scheduled", { version: 2 }, ["Schedule", "Scheduled"])
      expect(yield* store.commit(1, change)).toBe(true)
      expect(yield* store.commit(1, change)).toBe(false)
      expect(yield* store.find(sampleKey)).toEqual(change.record)
      expect(yield* typesInOutbox(store)).toEqual(["Submit", "Schedule", "Scheduled"])
      const detail = yield* store.detail(sampleKey)
      expect(detail?.timeline.map(({ state }) => state)).toEqual(["Submitted", "Scheduled"])
      expect(yield* store.commit(1, sampleChange("Scheduled", { serviceCallId: "absent" }))).toBe(false)
    }),
  )

  law("of many commits from one version, one succeeds", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Submitted"))
      const results = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, at) => at),
        (at) => store.commit(1, sampleChange("Scheduled", { version: 2, name: `call ${at}` }, [`M${at}`])),
        { concurrency: "unbounded" },
      )
      expect(results.filter(Boolean)).toHaveLength(1)
      expect(yield* typesInOutbox(store)).toEqual([`M${results.indexOf(true)}`])
    }),
  )

  law("the request and the body of an answer are read back as they were, only with the details", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Submitted"))
      const bodySnippet = `zero \u0000, quotes ", größer ✓ ${"x".repeat(65_000)}`
      const response = { ...sampleOutcomes.succeeded.response, bodySnippet }
      expect(yield* store.commit(1, sampleChange("Succeeded", { version: 2, response }))).toBe(true)
      const detail = yield* store.detail(sampleKey)
      expect(detail?.record.call.response).toEqual(response)
      expect([...(detail?.sealedRequest ?? [])]).toEqual([...sampleRequest])
      const read = yield* store.find(sampleKey)
      expect(read?.call.response?.bodySnippet).toBe("")
      // A later change that was decided without the body keeps it.
      const starred = sampleChange("Succeeded", { ...read?.call, version: 3, isStarred: true })
      expect(yield* store.commit(2, starred)).toBe(true)
      expect((yield* store.detail(sampleKey))?.record.call).toMatchObject({ isStarred: true, response })
      expect(yield* store.detail({ ...sampleKey, tenantId: "other" })).toBeUndefined()
    }),
  )

  test("what was answered is there after the store is opened again", async () => {
    const place = await fixture.fresh()
    try {
      const write = Effect.flatMap(CallStore, (store) =>
        submitChange(store, sampleChange("Submitted", {}, ["Submit"])),
      )
      await Effect.runPromise(write.pipe(Effect.provide(place.open())))
      const read = Effect.flatMap(CallStore, (store) =>
        Effect.all([store.find(sampleKey), typesInOutbox(store)]),
      )
      const [record, types] = await Effect.runPromise(read.pipe(Effect.provide(place.open())))
      expect(record?.call.serviceCallId).toBe(sampleKey.serviceCallId)
      expect(types).toEqual(["Submit"])
    } finally {
      await place.dispose()
    }
  })
}

const outboxLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)
  const heads = (store: StoreService, changes: Partial<Parameters<StoreService["outboxHeads"]>[0]> = {}) =>
    Effect.map(
      store.outboxHeads({
        nowMs: now + 1_000,
        exclusiveAfterTenant: "",
        tenants: 10,
        callsPerTenant: 10,
        ...changes,
      }),
      ({ keys }) => keys,
    )

  law("messages are in the order of the versions, and stay until they are removed", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Submitted", {}, ["A1", "A2"]))
      for (let version = 2; version <= 11; version++) {
        yield* store.commit(version - 1, sampleChange("Scheduled", { version }, [`V${version}`]))
      }
      const all = ["A1", "A2", ...Array.from({ length: 10 }, (_, at) => `V${at + 2}`)]
      expect(yield* typesInOutbox(store)).toEqual(all)
      const first = yield* store.outboxOf(sampleKey, 3)
      expect(first.map(({ message }) => message.type)).toEqual(all.slice(0, 3))
      yield* store.removeMessages(sampleKey, first)
      expect(yield* typesInOutbox(store)).toEqual(all.slice(3))
      yield* store.removeMessages({ ...sampleKey, tenantId: "other" }, yield* store.outboxOf(sampleKey, 100))
      expect(yield* typesInOutbox(store)).toEqual(all.slice(3))
    }),
  )

  law("a tenant with many messages hides no other, and the turn goes on after a tenant", (store) =>
    Effect.gen(function* () {
      const calls = Array.from({ length: 30 }, (_, at) => `call-${at}`)
      yield* Effect.forEach(calls, (serviceCallId) =>
        submitChange(store, sampleChange("Submitted", { tenantId: "busy", serviceCallId }, ["A", "B"])),
      )
      yield* submitChange(store, sampleChange("Submitted", { tenantId: "small" }, ["A"]))
      yield* submitChange(store, sampleChange("Submitted", { tenantId: "zero" }))
      const found = yield* heads(store)
      expect(found.filter(({ tenantId }) => tenantId === "busy").length).toBeLessThanOrEqual(10)
      expect(found.filter(({ tenantId }) => tenantId === "busy").length).toBeGreaterThan(0)
      expect(found).toContainEqual({ tenantId: "small", serviceCallId: "call-1" })
      expect(new Set(found.map(({ tenantId, serviceCallId }) => `${tenantId}/${serviceCallId}`)).size).toBe(
        found.length,
      )
      const tenantsOf = (keys: ReadonlyArray<CallKey>) => [...new Set(keys.map(({ tenantId }) => tenantId))]
      expect(tenantsOf(yield* heads(store, { tenants: 1 }))).toEqual(["busy"])
      expect(tenantsOf(yield* heads(store, { tenants: 1, exclusiveAfterTenant: "busy" }))).toEqual(["small"])
      expect(yield* heads(store, { exclusiveAfterTenant: "small" })).toEqual([])
      const turn = (exclusiveAfterTenant: string, tenants: number) =>
        Effect.map(
          store.outboxHeads({ nowMs: 0, exclusiveAfterTenant, tenants, callsPerTenant: 10 }),
          ({ keys, lastTenant }) => [keys.length, lastTenant],
        )
      // A tenant whose messages are not ready is visited too, so that the turn passes it.
      expect(yield* turn("", 1)).toEqual([0, "busy"])
      expect(yield* turn("", 3)).toEqual([0, undefined])
    }),
  )

  law("deferred messages are not ready before their time", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Submitted", {}, ["A"]))
      yield* store.deferMessages(sampleKey, now + 5_000)
      expect(yield* heads(store)).toEqual([])
      expect(yield* heads(store, { nowMs: now + 5_000 })).toEqual([sampleKey])
      expect((yield* store.outboxOf(sampleKey, 1)).map(({ tries }) => tries)).toEqual([1])
    }),
  )

  law("a call that is held can be changed", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Submitted", {}, ["A"]))
      yield* Effect.scoped(
        Effect.gen(function* () {
          expect(yield* store.hold(sampleKey)).toBe(true)
          expect(yield* store.commit(1, sampleChange("Scheduled", { version: 2 }, ["B"]))).toBe(true)
        }),
      )
      expect(yield* Effect.scoped(store.hold(sampleKey))).toBe(true)
    }),
  )

  if (!fixture.isShared) return

  law("only one process holds a call at a time", (store, place) =>
    Effect.gen(function* () {
      const elsewhere = (of: CallKey) =>
        Effect.scoped(Effect.flatMap(CallStore, (other) => other.hold(of))).pipe(Effect.provide(place.open()))
      yield* Effect.scoped(
        Effect.gen(function* () {
          expect(yield* store.hold(sampleKey)).toBe(true)
          expect(yield* elsewhere(sampleKey)).toBe(false)
          expect(yield* elsewhere({ ...sampleKey, tenantId: "other" })).toBe(true)
        }),
      )
      expect(yield* elsewhere(sampleKey)).toBe(true)
    }),
  )
}

const listLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)
  const asked: ListAsked = { states: callStates, order: "due", isAscending: false, limit: 10 }

  law("changes come by their time, and one millisecond is not cut", (store) =>
    Effect.gen(function* () {
      for (const [at, serviceCallId] of ["a", "b", "c", "d"].entries()) {
        const change = sampleChange("Submitted", { serviceCallId })
        const updatedAt = now + (at === 0 ? 0 : at === 3 ? 2 : 1)
        yield* submitChange(store, { ...change, record: { ...change.record, updatedAt } })
      }
      const after = (exclusiveAfter: number, limit: number) =>
        Effect.map(store.changesAfter("acme", exclusiveAfter, limit), (records) =>
          records.map(({ call }) => call.serviceCallId),
        )
      expect(yield* after(now - 1, 10)).toEqual(["a", "b", "c", "d"])
      expect(yield* after(now, 1)).toEqual(["b", "c"])
      expect(yield* after(now + 1, 10)).toEqual(["d"])
      expect(yield* store.changesAfter("other", 0, 10)).toEqual([])
    }),
  )

  law("a list and its counts show one tenant only", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Submitted", { tenantId: "other" }))
      yield* submitChange(store, sampleChange("Failed", { serviceCallId: "call-2" }))
      const { records } = yield* store.list("acme", asked)
      expect(records.map(({ call }) => call.serviceCallId)).toEqual(["call-2"])
      const counts = yield* store.counts("acme", {})
      expect(callStates.map((state) => counts[state].count)).toEqual([0, 0, 0, 0, 1, 0])
    }),
  )
}

const keepingLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)

  law("the sweep sees open calls whose time has come, oldest first, and no ended ones", (store) =>
    Effect.gen(function* () {
      for (const [at, state] of callStates.entries()) {
        const change = sampleChange(state, { serviceCallId: `call-${at}`, tenantId: `tenant-${at}` })
        const { checkAt, ...rest } = change.record
        const record = checkAt === undefined ? rest : { ...rest, checkAt: now - at }
        yield* submitChange(store, { ...change, record })
      }
      const open = (nowMs: number, limit = 10) =>
        Effect.map(store.openCalls(nowMs, limit), (records) => records.map(({ call }) => call.state))
      expect(yield* open(now)).toEqual(["Running", "Scheduled", "Submitted"])
      expect(yield* open(now, 1)).toEqual(["Running"])
      expect(yield* open(now - 1)).toEqual(["Running", "Scheduled"])
    }),
  )

  law("pruning removes calls that ended long ago with all their rows, in batches, and no others", (store) =>
    Effect.gen(function* () {
      const old = ["a", "b", "c"].map((serviceCallId) =>
        sampleChange("Failed", { serviceCallId, finishedAt: now - 100 }, ["A"]),
      )
      for (const change of old) yield* submitChange(store, change)
      yield* store.claimAttempt({ ...callIn("Running", { serviceCallId: "a" }), ...attemptOfA })
      yield* submitChange(store, sampleChange("Running", {}, ["A"]))
      yield* submitChange(store, sampleChange("Failed", { serviceCallId: "young", finishedAt: now }))
      expect(yield* store.prune(now - 50, 2)).toBe(2)
      expect(yield* store.prune(now - 50, 2)).toBe(1)
      expect(yield* store.prune(now - 50, 2)).toBe(0)
      for (const { record } of old) expect(yield* typesInOutbox(store, record.call)).toEqual([])
      expect(yield* store.attemptOf(attemptOfA)).toBeUndefined()
      expect(yield* store.find(sampleKey)).toBeDefined()
      expect(yield* typesInOutbox(store)).toEqual(["A"])
      expect(yield* store.find({ ...sampleKey, serviceCallId: "young" })).toBeDefined()
    }),
  )
}

const tenantLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)

  law(
    "settings are those of the last write, also with the details of a call, and of one tenant only",
    (store) =>
      Effect.gen(function* () {
        yield* submitChange(store, sampleChange("Scheduled"))
        expect(yield* store.settingsOf("acme")).toEqual({ hiddenHeaders: [] })
        expect((yield* store.detail(sampleKey))?.settings).toEqual({ hiddenHeaders: [] })
        yield* store.putSettings("other", { hiddenHeaders: ["x-theirs"] })
        yield* store.putSettings("acme", { hiddenHeaders: ["x-old"] })
        yield* store.putSettings("acme", { hiddenHeaders: ["x-a", "x-b"] })
        expect(yield* store.settingsOf("acme")).toEqual({ hiddenHeaders: ["x-a", "x-b"] })
        expect((yield* store.detail(sampleKey))?.settings).toEqual({ hiddenHeaders: ["x-a", "x-b"] })
        expect(yield* store.settingsOf("nobody")).toEqual({ hiddenHeaders: [] })
      }),
  )

  law("tenants with calls are listed once, in order and in pages", (store) =>
    Effect.gen(function* () {
      const tenants = (inclusiveFrom: string, exclusiveUntil: string, limit = 3) =>
        store.tenants({ inclusiveFrom, exclusiveUntil }, limit)
      expect(yield* tenants("", "\x7f")).toEqual([])
      for (const tenantId of ["b", "a", "c", "B"]) {
        yield* submitChange(store, sampleChange("Scheduled", { tenantId }))
        yield* submitChange(store, sampleChange("Failed", { tenantId, serviceCallId: "call-2" }))
      }
      expect(yield* tenants("", "\x7f")).toEqual(["B", "a", "b"])
      expect(yield* tenants("b", "\x7f")).toEqual(["b", "c"])
      expect(yield* tenants("a ", "c")).toEqual(["b"])
      expect(yield* tenants("b", "b ")).toEqual(["b"])
    }),
  )

  law("open calls are counted up to the limit, without those that have ended", (store) =>
    Effect.gen(function* () {
      for (const [at, state] of callStates.entries()) {
        yield* submitChange(store, sampleChange(state, { serviceCallId: `call-${at}` }))
      }
      yield* submitChange(store, sampleChange("Scheduled", { tenantId: "other" }))
      expect(yield* store.openCount("acme", 10)).toBe(3)
      expect(yield* store.openCount("acme", 2)).toBe(2)
      expect(yield* store.openCount("nobody", 10)).toBe(0)
    }),
  )
}

const attemptOfA: NewAttempt = {
  tenantId: "acme",
  attemptId: "attempt-a",
  serviceCallId: "a",
  owner: "one",
  timeoutMs: 1_000,
  claimedAt: now,
}
