// Two dispatchers on one PostgreSQL database, as two processes of the agent have them, while other code adds messages and
// the broker fails now and then.
import { expect, test } from "bun:test"
import { type Bus, PublishError } from "@punctual/bus/Bus"
import { runsOf, timeLimitMsOf } from "@punctual/server/testkit/effort"
import { eventually } from "@punctual/server/testkit/eventually"
import { describePostgres } from "@punctual/server/testkit/PostgresBinaries"
import { serverForTests } from "@punctual/server/testkit/postgres"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import fc from "fast-check"
import { CallSignals } from "../../src/orchestration/CallSignals.ts"
import { OutboxDispatcher } from "../../src/outbox/OutboxDispatcher.ts"
import { CallStore } from "../../src/ports/CallStore.ts"
import { PostgresCallStore } from "../../src/stores/postgres/PostgresCallStore.ts"
import { busThatPublishes } from "../../testkit/busThatPublishes.ts"
import { inThePast, sampleChange, sampleRequest } from "../../testkit/CallStoreFixture.ts"

/** What becomes of a publish. After `lost` the broker has the messages, and the publisher does not know. */
const aFate = fc.constantFrom("taken", "taken", "taken", "refused", "lost")

/** For each change of each call, how many messages it sends. */
const calls = fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 6,
})

class FickleBroker {
  fates: Array<string> = []
  /** The types of the messages that it has, in order, by call. */
  readonly taken = new Map<string, Array<string>>()
  /** Calls that both dispatchers published at the same time. */
  overlaps: Array<string> = []
  readonly #publishing = new Set<string>()

  readonly publish: Bus["Service"]["publish"] = (envelopes) =>
    Effect.gen({ self: this }, function* () {
      const fate = this.fates.shift() ?? "taken"
      const name = nameOf(envelopes[0])
      if (this.#publishing.has(name)) this.overlaps.push(name)
      this.#publishing.add(name)
      // The other dispatcher gets time to look at the same call.
      yield* Effect.sleep(5)
      this.#publishing.delete(name)
      if (fate === "refused") return yield* new PublishError({ message: "away", isPermanent: false })
      const types = envelopes.map(({ type }) => String(type))
      this.taken.set(name, [...(this.taken.get(name) ?? []), ...types])
      if (fate === "lost") return yield* new PublishError({ message: "no answer", isPermanent: false })
      return envelopes.map(() => ({ isDuplicate: false }))
    })
}

/** A publish has the messages of one call. */
const nameOf = (envelope: { readonly tenantId: string; readonly aggregateId: string } | undefined): string =>
  `${envelope?.tenantId}/${envelope?.aggregateId}`

const typesOf = (version: number, messages: number): ReadonlyArray<string> =>
  Array.from({ length: messages }, (_, at) => `V${version}M${at}`)

describePostgres("packaged", "on the packaged server", () => {
  const server = serverForTests("packaged")

  test(
    "messages of a call are published at least once, in order, and by one of them at a time",
    async () => {
      const { url } = server().database()
      const broker = new FickleBroker()
      const scope = await Effect.runPromise(Scope.make())
      const dispatcher = () =>
        OutboxDispatcher.layer({ pollEveryMs: 5 }).pipe(
          Layer.provideMerge(
            Layer.mergeAll(
              busThatPublishes(broker.publish),
              CallSignals.layer,
              PostgresCallStore.layer({ url, connections: 3 }),
            ),
          ),
          Layer.provide(Logger.layer([])),
        )
      const build = () => Effect.runPromise(Layer.buildWithScope(dispatcher(), scope))
      const [first, second] = [await build(), await build()]
      const stores = [first, second].map((services) => Effect.runSync(Effect.provide(CallStore, services)))
      const storeAt = (at: number) => stores[at % stores.length] as CallStore["Service"]
      let run = 0

      const change = async (tenantId: string, call: number, sizes: ReadonlyArray<number>) => {
        const serviceCallId = `call-${call}`
        for (const [at, size] of sizes.entries()) {
          const version = at + 1
          const made = inThePast(
            sampleChange("Submitted", { tenantId, serviceCallId, version }, typesOf(version, size)),
          )
          const messages = made.messages.map((message) => ({ ...message, aggregateId: serviceCallId }))
          const store = storeAt(call + at)
          await Effect.runPromise(
            at === 0
              ? Effect.asVoid(store.submit({ ...made, messages }, sampleRequest))
              : Effect.asVoid(store.commit(at, { ...made, messages })),
          )
        }
      }

      const untilEmpty = (tenantId: string, count: number) =>
        eventually("the outbox is empty", async () => {
          for (let call = 0; call < count; call++) {
            const key = { tenantId, serviceCallId: `call-${call}` }
            if ((await Effect.runPromise(storeAt(0).outboxOf(key, 1))).length > 0) return undefined
          }
          return true
        })

      try {
        await fc.assert(
          fc.asyncProperty(calls, fc.array(aFate, { maxLength: 6 }), async (asked, fates) => {
            const tenantId = `tenant-${++run}`
            broker.fates = [...fates]
            broker.overlaps = []
            await Promise.all(asked.map((sizes, call) => change(tenantId, call, sizes)))
            await untilEmpty(tenantId, asked.length)
            for (const [call, sizes] of asked.entries()) {
              const wanted = sizes.flatMap((size, at) => typesOf(at + 1, size))
              const taken = broker.taken.get(`${tenantId}/call-${call}`) ?? []
              expect([...new Set(taken)]).toEqual(wanted)
            }
            expect(broker.overlaps).toEqual([])
          }),
          { numRuns: runsOf(15) },
        )
      } finally {
        await Effect.runPromise(Scope.close(scope, Exit.void))
      }
    },
    timeLimitMsOf(120_000),
  )
})
