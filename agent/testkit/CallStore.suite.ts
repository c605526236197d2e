// The laws of the CallStore port as one suite that every adapter runs.
import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import type { CallChange } from "../src/domain/CallChange.ts"
import { type CallKey, callStates } from "../src/domain/ServiceCall.ts"
import { CallStore, type ListAsked, type NewAttempt } from "../src/ports/CallStore.ts"
import {
  type CallStoreFixture,
  onFreshStore,
  type StoreService,
  sampleChange,
  sampleMessage,
  sampleRequest,
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

type Law = (name: string, body: Parameters<typeof onFreshStore>[1]) => void

const lawsOf =
  (fixture: CallStoreFixture): Law =>
  (name, body) => {
    test(name, () => onFreshStore(fixture, body))
  }

const key: CallKey = { tenantId: "acme", serviceCallId: "call-1" }
const submit = (store: StoreService, change: CallChange) => store.submit(change, sampleRequest)
const typesIn = (store: StoreService, of: CallKey = key) =>
  Effect.map(store.outboxOf(of, 100), (rows) => rows.map(({ message }) => message.type))

const callLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)

  law("a call is inserted once, and a second submission returns what is there", (store) =>
    Effect.gen(function* () {
      const first = sampleChange("Submitted", {}, ["Submit"])
      expect(yield* submit(store, first)).toBeUndefined()
      const second = sampleChange("Submitted", { name: "Other" }, ["Submit"])
      expect((yield* submit(store, second))?.call.name).toBe(first.record.call.name)
      expect(yield* typesIn(store)).toEqual(["Submit"])
      expect(yield* store.find(key)).toEqual(first.record)
      expect(yield* store.find({ ...key, tenantId: "other" })).toBeUndefined()
      expect(yield* submit(store, sampleChange("Submitted", { tenantId: "other" }))).toBeUndefined()
    }),
  )

  law("a commit changes the call, its timeline and its messages together, or nothing", (store) =>
    Effect.gen(function* () {
      yield* submit(store, sampleChange("Submitted", {}, ["Submit"]))
      expect(yield* store.commit(7, sampleChange("Scheduled", { version: 8 }, ["Never"]))).toBe(false)
      expect((yield* store.find(key))?.call.state).toBe("Submitted")
      const change = sampleChange("Scheduled", { version: 2 }, ["Schedule", "Scheduled"])
      expect(yield* store.commit(1, change)).toBe(true)
      expect(yield* store.commit(1, change)).toBe(false)
      expect(yield* store.find(key)).toEqual(change.record)
      expect(yield* typesIn(store)).toEqual(["Submit", "Schedule", "Scheduled"])
      const detail = yield* store.detail(key)
      expect(detail?.timeline.map(({ state }) => state)).toEqual(["Submitted", "Scheduled"])
      expect(yield* store.commit(1, sampleChange("Scheduled", { serviceCallId: "absent" }))).toBe(false)
    }),
  )

  law("of many commits from one version, one succeeds", (store) =>
    Effect.gen(function* () {
      yield* submit(store, sampleChange("Submitted"))
      const results = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, at) => at),
        (at) => store.commit(1, sampleChange("Scheduled", { version: 2, name: `call ${at}` }, [`M${at}`])),
        { concurrency: "unbounded" },
      )
      expect(results.filter(Boolean)).toHaveLength(1)
      expect(yield* typesIn(store)).toEqual([`M${results.indexOf(true)}`])
    }),
  )

  law("the request and the body of an answer are read back as they were, only with the details", (store) =>
    Effect.gen(function* () {
      yield* submit(store, sampleChange("Submitted"))
      const bodySnippet = `zero \u0000, quotes ", größer ✓ ${"x".repeat(65_000)}`
      const response = { ...sampleOutcomes.succeeded.response, bodySnippet }
      expect(yield* store.commit(1, sampleChange("Succeeded", { version: 2, response }))).toBe(true)
      const detail = yield* store.detail(key)
      expect(detail?.record.call.response).toEqual(response)
      expect([...(detail?.sealedRequest ?? [])]).toEqual([...sampleRequest])
      const read = yield* store.find(key)
      expect(read?.call.response?.bodySnippet).toBe("")
      // A later change that was decided without the body keeps it.
      const starred = sampleChange("Succeeded", { ...read?.call, version: 3, isStarred: true })
      expect(yield* store.commit(2, starred)).toBe(true)
      expect((yield* store.detail(key))?.record.call).toMatchObject({ isStarred: true, response })
      expect(yield* store.detail({ ...key, tenantId: "other" })).toBeUndefined()
    }),
  )

  test("what was answered is there after the store is opened again", async () => {
    const place = await fixture.fresh()
    try {
      const write = Effect.flatMap(CallStore, (store) =>
        submit(store, sampleChange("Submitted", {}, ["Submit"])),
      )
      await Effect.runPromise(write.pipe(Effect.provide(place.open())))
      const read = Effect.flatMap(CallStore, (store) => Effect.all([store.find(key), typesIn(store)]))
      const [record, types] = await Effect.runPromise(read.pipe(Effect.provide(place.open())))
      expect(record?.call.serviceCallId).toBe(key.serviceCallId)
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
      yield* submit(store, sampleChange("Submitted", {}, ["A1", "A2"]))
      for (let version = 2; version <= 11; version++) {
        yield* store.commit(version - 1, sampleChange("Scheduled", { version }, [`V${version}`]))
      }
      const all = ["A1", "A2", ...Array.from({ length: 10 }, (_, at) => `V${at + 2}`)]
      expect(yield* typesIn(store)).toEqual(all)
      const first = yield* store.outboxOf(key, 3)
      expect(first.map(({ message }) => message.type)).toEqual(all.slice(0, 3))
      yield* store.removeMessages(key, first)
      expect(yield* typesIn(store)).toEqual(all.slice(3))
      yield* store.removeMessages({ ...key, tenantId: "other" }, yield* store.outboxOf(key, 100))
      expect(yield* typesIn(store)).toEqual(all.slice(3))
    }),
  )

  law("a tenant with many messages hides no other, and the turn goes on after a tenant", (store) =>
    Effect.gen(function* () {
      const calls = Array.from({ length: 30 }, (_, at) => `call-${at}`)
      yield* Effect.forEach(calls, (serviceCallId) =>
        submit(store, sampleChange("Submitted", { tenantId: "busy", serviceCallId }, ["A", "B"])),
      )
      yield* submit(store, sampleChange("Submitted", { tenantId: "small" }, ["A"]))
      yield* submit(store, sampleChange("Submitted", { tenantId: "zero" }))
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
      yield* submit(store, sampleChange("Submitted", {}, ["A"]))
      yield* store.deferMessages(key, now + 5_000)
      expect(yield* heads(store)).toEqual([])
      expect(yield* heads(store, { nowMs: now + 5_000 })).toEqual([key])
      expect((yield* store.outboxOf(key, 1)).map(({ tries }) => tries)).toEqual([1])
    }),
  )

  law("a call that is held can be changed", (store) =>
    Effect.gen(function* () {
      yield* submit(store, sampleChange("Submitted", {}, ["A"]))
      yield* Effect.scoped(
        Effect.gen(function* () {
          expect(yield* store.hold(key)).toBe(true)
          expect(yield* store.commit(1, sampleChange("Scheduled", { version: 2 }, ["B"]))).toBe(true)
        }),
      )
      expect(yield* Effect.scoped(store.hold(key))).toBe(true)
    }),
  )

  if (!fixture.isShared) return

  law("only one process holds a call at a time", (store, place) =>
    Effect.gen(function* () {
      const elsewhere = (of: CallKey) =>
        Effect.scoped(Effect.flatMap(CallStore, (other) => other.hold(of))).pipe(Effect.provide(place.open()))
      yield* Effect.scoped(
        Effect.gen(function* () {
          expect(yield* store.hold(key)).toBe(true)
          expect(yield* elsewhere(key)).toBe(false)
          expect(yield* elsewhere({ ...key, tenantId: "other" })).toBe(true)
        }),
      )
      expect(yield* elsewhere(key)).toBe(true)
    }),
  )
}

const attemptLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)
  const attempt: NewAttempt = {
    tenantId: "acme",
    attemptId: "attempt-1",
    serviceCallId: "call-1",
    owner: "one",
    timeoutMs: 60_000,
    claimedAt: now,
  }
  const begin = (store: StoreService, owner: string) =>
    store.beginAttempt(attempt, { owner, startedAt: now + 1, message: sampleMessage("Started") })
  const { succeeded: outcome } = sampleOutcomes

  law("an attempt is claimed, called and ended once each, with its messages", (store) =>
    Effect.gen(function* () {
      yield* submit(store, sampleChange("Running"))
      expect(yield* store.claimAttempt(attempt)).toEqual({ ...attempt, state: "claimed" })
      expect(yield* store.claimAttempt({ ...attempt, owner: "two" })).toMatchObject({ owner: "one" })
      const ended = sampleMessage("Ended")
      expect(yield* store.endAttempt(attempt, { outcome, message: ended })).toBe(false)
      const owners = ["one", "two", "three"]
      const begun = yield* Effect.forEach(owners, (owner) => begin(store, owner), { concurrency: 3 })
      expect(begun.filter(Boolean)).toHaveLength(1)
      const owner = owners[begun.indexOf(true)] ?? ""
      expect(yield* store.attemptOf(attempt)).toMatchObject({ state: "calling", owner, startedAt: now + 1 })
      expect(yield* store.callingAttempts(owner, 10)).toHaveLength(1)
      expect(yield* store.callingAttempts("nobody", 10)).toEqual([])
      expect(yield* store.endAttempt(attempt, { outcome, message: ended })).toBe(true)
      expect(yield* store.endAttempt(attempt, { outcome, message: ended })).toBe(false)
      expect((yield* store.attemptOf(attempt))?.ended).toEqual({ outcome, messageId: ended.id })
      expect(yield* typesIn(store)).toEqual(["Started", "Ended"])
      expect(yield* store.attemptOf({ ...attempt, tenantId: "other" })).toBeUndefined()
    }),
  )

  law("the message of an outcome can be sent again, and is there once", (store) =>
    Effect.gen(function* () {
      yield* submit(store, sampleChange("Running"))
      yield* store.claimAttempt(attempt)
      yield* begin(store, "one")
      const message = sampleMessage("Ended")
      yield* store.resendOutcome(attempt, message)
      expect(yield* typesIn(store)).toEqual(["Started"])
      yield* store.endAttempt(attempt, { outcome, message })
      yield* store.resendOutcome(attempt, message)
      expect(yield* typesIn(store)).toEqual(["Started", "Ended"])
      yield* store.removeMessages(key, yield* store.outboxOf(key, 10))
      yield* store.resendOutcome(attempt, message)
      expect((yield* store.outboxOf(key, 10)).map((row) => row.message)).toEqual([message])
    }),
  )

  law("no attempt begins unless its call is Running with it", (store) =>
    Effect.gen(function* () {
      yield* submit(store, sampleChange("Failed"))
      yield* store.claimAttempt(attempt)
      expect(yield* begin(store, "one")).toBe(false)
      yield* submit(store, sampleChange("Running", { serviceCallId: "call-2", attemptId: "attempt-2" }))
      const strange = { ...attempt, serviceCallId: "call-2", attemptId: "attempt-3" }
      yield* store.claimAttempt(strange)
      const step = { owner: "one", startedAt: now, message: sampleMessage("Started") }
      expect(yield* store.beginAttempt(strange, step)).toBe(false)
      expect(yield* typesIn(store)).toEqual([])
      const waiting = yield* store.waitingAttempts(now + 1, 10)
      expect(waiting.map(({ attemptId }) => attemptId).sort()).toEqual(["attempt-1", "attempt-3"])
      expect(yield* store.waitingAttempts(now, 10)).toEqual([])
    }),
  )

  if (!fixture.isShared) return

  law("of several processes, one begins each attempt and one ends it", (store, place) =>
    Effect.gen(function* () {
      const other = yield* Effect.map(Layer.build(place.open()), (services) =>
        Context.get(services, CallStore),
      )
      const stores = [store, other]
      const rivals = stores.flatMap((of, at) => [`${at}a`, `${at}b`].map((owner) => ({ of, owner })))
      const together = (step: (rival: (typeof rivals)[number]) => Effect.Effect<boolean, unknown>) =>
        Effect.forEach(rivals, step, { concurrency: "unbounded" })
      for (let at = 0; at < 20; at++) {
        const [serviceCallId, attemptId] = [`call-${at}`, `attempt-${at}`]
        yield* submit(store, sampleChange("Running", { serviceCallId, attemptId }))
        const one = { ...attempt, serviceCallId, attemptId }
        yield* Effect.forEach(rivals, ({ of, owner }) => of.claimAttempt({ ...one, owner }), {
          concurrency: "unbounded",
        })
        const started = { startedAt: now, message: sampleMessage("Started", { aggregateId: serviceCallId }) }
        const begun = yield* together(({ of, owner }) => of.beginAttempt(one, { ...started, owner }))
        expect(begun.filter(Boolean)).toHaveLength(1)
        expect((yield* store.attemptOf(one))?.owner).toBe(rivals[begun.indexOf(true)]?.owner ?? "")
        const message = sampleMessage("Ended", { aggregateId: serviceCallId })
        const ended = yield* together(({ of }) => of.endAttempt(one, { outcome, message }))
        expect(ended.filter(Boolean)).toHaveLength(1)
        expect(yield* typesIn(store, one)).toEqual(["Started", "Ended"])
      }
    }).pipe(Effect.scoped),
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
        yield* submit(store, { ...change, record: { ...change.record, updatedAt } })
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
      yield* submit(store, sampleChange("Submitted", { tenantId: "other" }))
      yield* submit(store, sampleChange("Failed", { serviceCallId: "call-2" }))
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
        yield* submit(store, { ...change, record })
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
      for (const change of old) yield* submit(store, change)
      yield* store.claimAttempt({ ...callIn("Running", { serviceCallId: "a" }), ...attemptOfA })
      yield* submit(store, sampleChange("Running", {}, ["A"]))
      yield* submit(store, sampleChange("Failed", { serviceCallId: "young", finishedAt: now }))
      expect(yield* store.prune(now - 50, 2)).toBe(2)
      expect(yield* store.prune(now - 50, 2)).toBe(1)
      expect(yield* store.prune(now - 50, 2)).toBe(0)
      for (const { record } of old) expect(yield* typesIn(store, record.call)).toEqual([])
      expect(yield* store.attemptOf(attemptOfA)).toBeUndefined()
      expect(yield* store.find(key)).toBeDefined()
      expect(yield* typesIn(store)).toEqual(["A"])
      expect(yield* store.find({ ...key, serviceCallId: "young" })).toBeDefined()
    }),
  )
}

const tenantLaws = (fixture: CallStoreFixture): void => {
  const law = lawsOf(fixture)

  law(
    "settings are those of the last write, also with the details of a call, and of one tenant only",
    (store) =>
      Effect.gen(function* () {
        yield* submit(store, sampleChange("Scheduled"))
        expect(yield* store.settingsOf("acme")).toEqual({ hiddenHeaders: [] })
        expect((yield* store.detail(key))?.settings).toEqual({ hiddenHeaders: [] })
        yield* store.putSettings("other", { hiddenHeaders: ["x-theirs"] })
        yield* store.putSettings("acme", { hiddenHeaders: ["x-old"] })
        yield* store.putSettings("acme", { hiddenHeaders: ["x-a", "x-b"] })
        expect(yield* store.settingsOf("acme")).toEqual({ hiddenHeaders: ["x-a", "x-b"] })
        expect((yield* store.detail(key))?.settings).toEqual({ hiddenHeaders: ["x-a", "x-b"] })
        expect(yield* store.settingsOf("nobody")).toEqual({ hiddenHeaders: [] })
      }),
  )

  law("tenants with calls are listed once, in order and in pages", (store) =>
    Effect.gen(function* () {
      const tenants = (inclusiveFrom: string, exclusiveUntil: string, limit = 3) =>
        store.tenants({ inclusiveFrom, exclusiveUntil }, limit)
      expect(yield* tenants("", "\x7f")).toEqual([])
      for (const tenantId of ["b", "a", "c", "B"]) {
        yield* submit(store, sampleChange("Scheduled", { tenantId }))
        yield* submit(store, sampleChange("Failed", { tenantId, serviceCallId: "call-2" }))
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
        yield* submit(store, sampleChange(state, { serviceCallId: `call-${at}` }))
      }
      yield* submit(store, sampleChange("Scheduled", { tenantId: "other" }))
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
