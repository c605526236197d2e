// The dispatcher over a real store, with a bus that does what the test says.
import { expect, test } from "bun:test"
import { type Bus, PublishError } from "@punctual/bus/Bus"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Layer, Logger } from "effect"
import { CallSignals } from "../../src/orchestration/CallSignals.ts"
import { OutboxDispatcher } from "../../src/outbox/OutboxDispatcher.ts"
import { CallStore } from "../../src/ports/CallStore.ts"
import { busThatPublishes } from "../../testkit/busThatPublishes.ts"
import { inThePast, sampleChange, sampleRequest } from "../../testkit/CallStoreFixture.ts"
import { sqliteCalls } from "../../testkit/sqliteCalls.ts"

type Publish = Bus["Service"]["publish"]

const withDispatcher = async (
  publish: Publish,
  body: (
    store: CallStore["Service"],
    counts: OutboxDispatcher["Service"]["counts"],
    health: OutboxDispatcher["Service"]["health"],
  ) => Promise<void>,
): Promise<void> => {
  const place = await sqliteCalls.fresh()
  const layer = OutboxDispatcher.layer({ pollEveryMs: 20 }).pipe(
    Layer.provideMerge(Layer.mergeAll(busThatPublishes(publish), CallSignals.layer, place.open())),
    Layer.provide(Logger.layer([])),
  )
  try {
    await Effect.runPromise(
      Effect.flatMap(Effect.all([CallStore, OutboxDispatcher]), ([store, { counts, health }]) =>
        Effect.promise(() => body(store, counts, health)),
      ).pipe(Effect.provide(layer), Effect.provide(Logger.layer([]))),
    )
  } finally {
    await place.dispose()
  }
}

const submit = (
  store: CallStore["Service"],
  serviceCallId: string,
  types: ReadonlyArray<string>,
  tenantId = "acme",
) => {
  const change = sampleChange("Submitted", { tenantId, serviceCallId }, types)
  return Effect.runPromise(store.submit(inThePast(change), sampleRequest))
}

const untilPublished = (counts: OutboxDispatcher["Service"]["counts"], published: number) =>
  eventually("all is published", () => (counts().published >= published ? true : undefined))

const published = { isDuplicate: false }

test("messages of a call are published in order, and a failed publish is repeated before what follows", async () => {
  const sent: Array<string> = []
  let failures = 2
  await withDispatcher(
    (envelopes) =>
      Effect.suspend(() => {
        if (failures-- > 0) return Effect.fail(new PublishError({ message: "away", isPermanent: false }))
        sent.push(...envelopes.map(({ type }) => String(type)))
        return Effect.succeed(envelopes.map(() => published))
      }),
    async (store, counts) => {
      await submit(store, "call-1", ["A", "B"])
      await untilPublished(counts, 2)
      await Effect.runPromise(store.commit(1, inThePast(sampleChange("Scheduled", { version: 2 }, ["C"]))))
      await untilPublished(counts, 3)
      expect(sent).toEqual(["A", "B", "C"])
      expect(counts()).toMatchObject({ failed: 2, dropped: 0 })
      await eventually("the outbox is empty", async () => {
        const rows = await Effect.runPromise(
          store.outboxOf({ tenantId: "acme", serviceCallId: "call-1" }, 10),
        )
        return rows.length === 0 ? true : undefined
      })
    },
  )
})

test("a message that no broker can take is given up alone, and the others are published", async () => {
  const sent: Array<string> = []
  await withDispatcher(
    (envelopes) =>
      Effect.suspend(() => {
        if (envelopes.some(({ type }) => String(type) === "Huge")) {
          return Effect.fail(new PublishError({ message: "too large", isPermanent: true }))
        }
        sent.push(...envelopes.map(({ type }) => String(type)))
        return Effect.succeed(envelopes.map(() => published))
      }),
    async (store, counts) => {
      await submit(store, "call-1", ["A", "Huge", "B"])
      await untilPublished(counts, 2)
      expect(sent).toEqual(["A", "B"])
      expect(counts().dropped).toBe(1)
    },
  )
})

test("a tenant whose messages hang does not stop the others", async () => {
  const sent: Array<string> = []
  await withDispatcher(
    (envelopes) => {
      const [first] = envelopes
      if (first?.tenantId === "busy") return Effect.never
      return Effect.sync(() => {
        sent.push(String(first?.tenantId))
        return envelopes.map(() => published)
      })
    },
    async (store, counts) => {
      await Promise.all(Array.from({ length: 300 }, (_, at) => submit(store, `call-${at}`, ["A"], "busy")))
      await submit(store, "call-1", ["A"], "small")
      await untilPublished(counts, 1)
      expect(sent).toEqual(["small"])
    },
  )
})

test("the health says that the broker takes nothing, until it does again", async () => {
  let isAway = true
  await withDispatcher(
    (envelopes) =>
      isAway
        ? Effect.fail(new PublishError({ message: "away", isPermanent: false }))
        : Effect.succeed(envelopes.map(() => published)),
    async (store, counts, health) => {
      expect(health().troubles).toEqual([])
      await Promise.all(Array.from({ length: 10 }, (_, at) => submit(store, `call-${at}`, ["A"])))
      await eventually("the broker counts as away", () => health().troubles.length > 0 || undefined)
      expect(health().troubles).toEqual(["The message broker takes no messages."])
      isAway = false
      await untilPublished(counts, 10)
      expect(health().troubles).toEqual([])
    },
  )
})
