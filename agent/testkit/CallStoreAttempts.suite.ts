// The laws of attempts: only one process makes a call, and its outcome is stored before it is published.
import { expect } from "bun:test"
import { Context, Effect, Layer } from "effect"
import { CallStore, type NewAttempt } from "../src/ports/CallStore.ts"
import {
  type CallStoreFixture,
  lawsOf,
  type StoreService,
  sampleChange,
  sampleKey,
  sampleMessage,
  submitChange,
  typesInOutbox,
} from "./CallStoreFixture.ts"
import { now, sampleOutcomes } from "./sampleCalls.ts"

export const attemptLaws = (fixture: CallStoreFixture): void => {
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
      yield* submitChange(store, sampleChange("Running"))
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
      expect(yield* typesInOutbox(store)).toEqual(["Started", "Ended"])
      expect(yield* store.attemptOf({ ...attempt, tenantId: "other" })).toBeUndefined()
    }),
  )

  law("the message of an outcome can be sent again, and is there once", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Running"))
      yield* store.claimAttempt(attempt)
      yield* begin(store, "one")
      const message = sampleMessage("Ended")
      yield* store.resendOutcome(attempt, message)
      expect(yield* typesInOutbox(store)).toEqual(["Started"])
      yield* store.endAttempt(attempt, { outcome, message })
      yield* store.resendOutcome(attempt, message)
      expect(yield* typesInOutbox(store)).toEqual(["Started", "Ended"])
      yield* store.removeMessages(sampleKey, yield* store.outboxOf(sampleKey, 10))
      yield* store.resendOutcome(attempt, message)
      expect((yield* store.outboxOf(sampleKey, 10)).map((row) => row.message)).toEqual([message])
    }),
  )

  law("no attempt begins unless its call is Running with it", (store) =>
    Effect.gen(function* () {
      yield* submitChange(store, sampleChange("Failed"))
      yield* store.claimAttempt(attempt)
      expect(yield* begin(store, "one")).toBe(false)
      yield* submitChange(store, sampleChange("Running", { serviceCallId: "call-2", attemptId: "attempt-2" }))
      const strange = { ...attempt, serviceCallId: "call-2", attemptId: "attempt-3" }
      yield* store.claimAttempt(strange)
      const step = { owner: "one", startedAt: now, message: sampleMessage("Started") }
      expect(yield* store.beginAttempt(strange, step)).toBe(false)
      expect(yield* typesInOutbox(store)).toEqual([])
      const waitingIn = (fromMs: number, exclusiveBeforeMs: number) =>
        Effect.map(store.waitingAttempts({ fromMs, exclusiveBeforeMs }, 10), (found) =>
          found.map(({ attemptId }) => attemptId).sort(),
        )
      expect(yield* waitingIn(0, now + 1)).toEqual(["attempt-1", "attempt-3"])
      expect(yield* waitingIn(now, now + 1)).toEqual(["attempt-1", "attempt-3"])
      expect(yield* waitingIn(0, now)).toEqual([])
      expect(yield* waitingIn(now + 1, now + 2)).toEqual([])
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
        yield* submitChange(store, sampleChange("Running", { serviceCallId, attemptId }))
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
        expect(yield* typesInOutbox(store, one)).toEqual(["Started", "Ended"])
      }
    }).pipe(Effect.scoped),
  )
}
