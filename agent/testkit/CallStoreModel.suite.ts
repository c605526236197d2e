// Random calls and random questions: the store must answer as a plain search through all calls does.
import { expect, test } from "bun:test"
import { runsOf, timeLimitMsOf } from "@punctual/server/testkit/effort"
import { Effect } from "effect"
import fc from "fast-check"
import { type CallState, callStates, type ServiceCall } from "../src/domain/ServiceCall.ts"
import type { ListAsked, ListPlace, RowFilter } from "../src/ports/CallStore.ts"
import {
  type CallStoreFixture,
  onFreshStore,
  type StoreService,
  sampleChange,
  sampleRequest,
} from "./CallStoreFixture.ts"
import { now } from "./sampleCalls.ts"

const tenants = ["acme", "other"] as const
const tags = ["a", "b", "ä'\""] as const
const hosts = ["one.example", "two.example"] as const

const aCall = fc.record({
  tenantId: fc.constantFrom(...tenants),
  serviceCallId: fc.constantFrom("a", "b", "ab", "B", "ä", "😀", "z z", "%_", "'"),
  state: fc.constantFrom(...callStates),
  dueAt: fc.integer({ min: now, max: now + 3 }),
  submittedAt: fc.integer({ min: now - 3, max: now }),
  name: fc.constantFrom("Alpha", "alphabet", "BETA", "Größe", "100% sure_"),
  tags: fc.subarray([...tags]),
  isStarred: fc.boolean(),
  method: fc.constantFrom("GET", "POST"),
  host: fc.constantFrom(...hosts),
})

const maybe = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

const aFilter = fc.record({
  tag: maybe(fc.constantFrom(...tags)),
  isStarred: maybe(fc.boolean()),
  name: maybe(fc.constantFrom("ALPHA", "bet", "GRÖ", "%", "_")),
  method: maybe(fc.constantFrom("GET", "POST")),
  host: maybe(fc.constantFrom(...hosts)),
  inclusiveFrom: maybe(fc.integer({ min: now, max: now + 3 })),
  exclusiveUntil: maybe(fc.integer({ min: now, max: now + 4 })),
})

const aQuestion = fc.record({
  filter: aFilter,
  states: fc.subarray([...callStates], { minLength: 1 }),
  order: fc.constantFrom("due", "submitted"),
  isAscending: fc.boolean(),
  limit: fc.integer({ min: 1, max: 5 }),
})

type Filter = { readonly [name in keyof RowFilter]: RowFilter[name] | undefined }

const present = (filter: Filter): RowFilter =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

const matches = (call: ServiceCall, filter: RowFilter): boolean =>
  (filter.tag === undefined || call.tags.includes(filter.tag)) &&
  (filter.isStarred === undefined || call.isStarred === filter.isStarred) &&
  (filter.name === undefined || call.name.toLowerCase().includes(filter.name.toLowerCase())) &&
  (filter.method === undefined || call.method === filter.method) &&
  (filter.host === undefined || call.host === filter.host) &&
  (filter.inclusiveFrom === undefined || call.dueAt >= filter.inclusiveFrom) &&
  (filter.exclusiveUntil === undefined || call.dueAt < filter.exclusiveUntil)

const sorted = (calls: ReadonlyArray<ServiceCall>, { order, isAscending }: ListAsked) => {
  const at = (call: ServiceCall) => (order === "due" ? call.dueAt : call.submittedAt)
  const bytes = (call: ServiceCall) => Buffer.from(call.serviceCallId)
  return calls.toSorted(
    (a, b) => (isAscending ? 1 : -1) * (at(a) - at(b) || Buffer.compare(bytes(a), bytes(b))),
  )
}

/** Walks through all pages. */
const walk = Effect.fnUntraced(function* (store: StoreService, tenantId: string, asked: ListAsked) {
  const found: Array<string> = []
  let after: ListPlace | undefined
  for (let pages = 0; pages < 50; pages++) {
    const page = yield* store.list(tenantId, after === undefined ? asked : { ...asked, after })
    expect(page.records.length).toBeLessThanOrEqual(asked.limit)
    found.push(...page.records.map(({ call }) => call.serviceCallId))
    if (page.next === undefined) return found
    after = page.next
  }
  throw new Error("the walk does not end")
})

export const callStoreModelSuite = (fixture: CallStoreFixture): void => {
  test(
    "lists, pages and counts answer as a search through all calls does",
    () =>
      onFreshStore(fixture, (store) =>
        Effect.promise(() => {
          let run = 0
          return fc.assert(
            fc.asyncProperty(fc.array(aCall, { maxLength: 15 }), aQuestion, async (given, question) => {
              // Each run has tenants of its own, so that the runs can share a store.
              const suffix = `-${++run}`
              const stored = new Map<string, ServiceCall>()
              for (const { state, tenantId, ...call } of given) {
                const change = sampleChange(state, { ...call, tenantId: `${tenantId}${suffix}` })
                const present = await Effect.runPromise(store.submit(change, sampleRequest))
                if (present === undefined) stored.set(`${tenantId}/${call.serviceCallId}`, change.record.call)
              }
              const { filter: maybeFilter, ...terms } = question
              const filter = present(maybeFilter)
              const asked: ListAsked = { ...filter, ...terms, order: terms.order as ListAsked["order"] }
              for (const tenant of tenants) {
                const tenantId = `${tenant}${suffix}`
                const own = [...stored.values()].filter((call) => call.tenantId === tenantId)
                const matching = own.filter((call) => matches(call, filter))
                const wanted = matching.filter(({ state }) => asked.states.includes(state))
                const found = await Effect.runPromise(walk(store, tenantId, asked))
                expect(found).toEqual(sorted(wanted, asked).map(({ serviceCallId }) => serviceCallId))
                const counts = await Effect.runPromise(store.counts(tenantId, filter))
                const countOf = (state: CallState) => matching.filter((call) => call.state === state).length
                for (const state of callStates) {
                  expect([state, counts[state].count]).toEqual([state, countOf(state)])
                }
              }
            }),
            { numRuns: runsOf(60) },
          )
        }),
      ),
    timeLimitMsOf(60_000),
  )
}
