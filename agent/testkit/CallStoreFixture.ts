// What the suites of call stores need from an adapter, and what their laws share: sample rows and short names.
import { test } from "bun:test"
import { Effect, type Layer } from "effect"
import type { CallChange } from "../src/domain/CallChange.ts"
import type { OutboxMessage } from "../src/domain/OutboxMessage.ts"
import type { CallKey, CallState, ServiceCall } from "../src/domain/ServiceCall.ts"
import { CallStore } from "../src/ports/CallStore.ts"
import { now, recordIn, sampleUuid } from "./sampleCalls.ts"

export interface CallStorePlace {
  /** Opens the store. The same place can be opened again, later or (if `isShared`) at the same time. */
  open(): Layer.Layer<CallStore, unknown>
  dispose(): Promise<void>
}

export interface CallStoreFixture {
  readonly name: string
  /** Several processes can use the store at the same time. */
  readonly isShared: boolean
  /** An empty place. */
  fresh(): Promise<CallStorePlace>
}

export type StoreService = CallStore["Service"]

/** Runs a law on an empty store. */
export const onFreshStore = async (
  fixture: CallStoreFixture,
  law: (store: StoreService, place: CallStorePlace) => Effect.Effect<void, unknown>,
): Promise<void> => {
  const place = await fixture.fresh()
  try {
    await Effect.runPromise(
      Effect.flatMap(CallStore, (store) => law(store, place)).pipe(Effect.provide(place.open())),
    )
  } finally {
    await place.dispose()
  }
}

type Law = (name: string, body: Parameters<typeof onFreshStore>[1]) => void

/** Each law is a test on an empty store. */
export const lawsOf =
  (fixture: CallStoreFixture): Law =>
  (name, body) => {
    test(name, () => onFreshStore(fixture, body))
  }

export const sampleKey: CallKey = { tenantId: "acme", serviceCallId: "call-1" }

export const submitChange = (store: StoreService, change: CallChange) => store.submit(change, sampleRequest)

/** The types of the messages that wait in the outbox of the call. */
export const typesInOutbox = (store: StoreService, of: CallKey = sampleKey) =>
  Effect.map(store.outboxOf(of, 100), (rows) => rows.map(({ message }) => message.type))

export const sampleMessage = (text: string, changes: Partial<OutboxMessage> = {}): OutboxMessage => ({
  id: sampleUuid(),
  type: text,
  aggregateId: "call-1",
  timestampMs: now,
  correlationId: "order-4711",
  payloadJson: JSON.stringify({ text }),
  ...changes,
})

/** A change that makes a call what is given, and sends messages of these types. */
export const sampleChange = (
  state: CallState,
  call: Partial<ServiceCall> = {},
  types: ReadonlyArray<string> = [],
): CallChange => {
  const record = recordIn(state, call)
  const { version } = record.call
  return {
    record: { ...record, updatedAt: now + version },
    timeline: [{ at: now + version, version, what: "Sample", state }],
    messages: types.map((type) => sampleMessage(type)),
  }
}

/** The samples are in the future of the real clock, and messages are not published before their time. */
export const inThePast = (change: CallChange): CallChange => ({
  ...change,
  record: { ...change.record, updatedAt: 1 },
})

export const sampleRequest = new Uint8Array([1, 2, 3, 250, 0])
