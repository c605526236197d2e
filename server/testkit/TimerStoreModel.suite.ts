// Compares a store with a model. Random sequences of items give the same answers, pending timers and tally that
// domain/decide.ts gives over a plain map. The number of armings always balances.
import { describe, expect, test } from "bun:test"
import { Effect, ManagedRuntime } from "effect"
import fc from "fast-check"
import { emptyTally, type Tally } from "../src/domain/Decision.ts"
import { beginning, compareDue } from "../src/domain/DueOrder.ts"
import { decide } from "../src/domain/decide.ts"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { keyOf } from "../src/domain/TimerKey.ts"
import { keyOfItem, type Then, type WriteAnswer, type WriteItem } from "../src/domain/WriteItem.ts"
import { TimerStore } from "../src/ports/TimerStore.ts"
import { runsOf } from "./effort.ts"
import { at, owned, type StoreFixture } from "./StoreFixture.ts"
import {
  cancelOf,
  changeOf,
  discardOf,
  outcomeOf,
  putOf,
  replayOf,
  sampleId,
  sampleNow,
  sampleSpec,
  sampleTimer,
  scheduleOf,
} from "./timers.ts"

/** The next step, as numbers that a shrinking run can make small. */
interface Step {
  readonly op:
    | "put"
    | "change"
    | "schedule"
    | "cancel"
    | "outcome"
    | "record"
    | "replay"
    | "discard"
    | "repeat"
    | "carried"
  readonly key: number
  readonly a: number
  readonly b: number
}

const steps = fc.array(
  fc.record({
    op: fc.constantFrom<Step["op"]>(
      "put",
      "put",
      "change",
      "schedule",
      "schedule",
      "cancel",
      "outcome",
      "outcome",
      "record",
      "replay",
      "replay",
      "discard",
      "repeat",
      "carried",
    ),
    key: fc.nat(2),
    a: fc.nat(11),
    b: fc.nat(4),
  }),
  { maxLength: 40 },
)

/**
 * The key is in use, so the first decision about the command misses. The second one keeps the correlation id, under the
 * same fireId. An index that is written before the commit has words of both.
 */
const missedWithAnotherWord: [Array<Step>, number] = [
  [
    { op: "put", key: 2, a: 0, b: 0 },
    { op: "schedule", key: 2, a: 5, b: 0 },
  ],
  1,
]

export const timerStoreModelSuite = (fixture: StoreFixture): void => {
  describe("model", () => {
    test("random items get the model's answers, and the number of armings balances", async () => {
      const runtime = ManagedRuntime.make(fixture.fresh({ shards: 1 }))
      try {
        const { store, write } = await runtime.runPromise(owned)
        let run = 0
        await fc.assert(
          fc.asyncProperty(steps, fc.integer({ min: 1, max: 9 }), async (sequence, batchItems) => {
            const model = new Model(`run-${++run}`)
            const items = sequence.flatMap((step) => model.take(step) ?? [])
            const tallyBefore = await runtime.runPromise(store.tally)
            const answers: Array<WriteAnswer> = []
            for (let from = 0; from < items.length; from += batchItems) {
              answers.push(...(await runtime.runPromise(write(items.slice(from, from + batchItems)))))
            }
            expect(answers).toEqual(model.answers)
            await runtime.runPromise(assertSame(model))
            expect(difference(await runtime.runPromise(store.tally), tallyBefore)).toEqual(model.tally)
            expect(isConserved(model.tally, model.pending.size)).toBe(true)
          }),
          { numRuns: runsOf(60), examples: [missedWithAnotherWord] },
        )
      } finally {
        await runtime.dispose()
      }
    })
  })
}

/** created + rearmed + replayed = pending + delivered + cancelled + replaced + dead + discarded */
export const isConserved = (tally: Tally, pending: number): boolean =>
  tally.created + tally.rearmed + tally.replayed ===
  pending + tally.delivered + tally.cancelled + tally.replaced + tally.dead + tally.discarded

const assertSame = Effect.fnUntraced(function* (model: Model) {
  const store = yield* TimerStore
  const query = { shard: 0, exclusiveAfter: beginning, inclusiveUntilMs: Number.MAX_SAFE_INTEGER, limit: 100 }
  expect((yield* store.due({ ...query, only: model.namespace })).timers).toEqual(
    [...model.pending.values()].sort(compareDue),
  )
  for (const id of [0, 1, 2]) {
    const key = keyOf(model.namespace, `k${id}`)
    expect(yield* store.find(key)).toEqual({
      pending: model.pending.get(key.uuid),
      last: model.last(key.uuid),
    })
  }
  const { items } = yield* store.list({
    namespace: model.namespace,
    state: "dead",
    reversed: false,
    includePayload: true,
    limit: 100,
  })
  const letters = items.flatMap((item) => (item.state === "dead" ? [item.life] : []))
  expect(byFireId(letters)).toEqual(byFireId(model.letters))
  yield* assertSameWords(model)
})

/** What a filter by tag or correlation id finds, in every state. */
const assertSameWords = Effect.fnUntraced(function* (model: Model) {
  const store = yield* TimerStore
  const filters = [{ tag: "tag-0" }, { tag: "tag-1" }, { tag: "all" }, { correlationId: "c-1" }]
  for (const state of ["pending", "delivered", "cancelled", "dead"] as const) {
    for (const filter of filters) {
      const query = { namespace: model.namespace, state, ...filter }
      const page = yield* store.list({ ...query, reversed: false, includePayload: false, limit: 100 })
      const found = page.items.map((item) => (item.state === "pending" ? item.timer : item.life).fireId)
      const expected = model.having(state, filter)
      expect([state, filter, found.toSorted()]).toEqual([state, filter, expected.toSorted()])
      expect(yield* store.count({ ...query, limit: 100 })).toEqual({ count: expected.length, capped: false })
    }
  }
})

const byFireId = (lives: ReadonlyArray<FinishedLife>): ReadonlyArray<FinishedLife> =>
  [...lives].sort((a, b) => (a.fireId < b.fireId ? -1 : 1))

class Model {
  readonly namespace: string
  readonly pending = new Map<string, Timer>()
  readonly answers: Array<WriteAnswer> = []
  tally: Tally = emptyTally
  readonly #lives: Array<FinishedLife> = []
  /** Dead letters that were removed. */
  readonly #gone: Array<FinishedLife> = []
  readonly #replaced: Array<Timer> = []
  readonly #items: Array<WriteItem> = []
  #now = sampleNow

  constructor(namespace: string) {
    this.namespace = namespace
  }

  last(uuid: string): FinishedLife | undefined {
    return this.#lives.filter((life) => life.uuid === uuid).sort((a, b) => b.revision - a.revision)[0]
  }

  /** The fireIds of all timers or lives that have the word. */
  having(
    state: "pending" | FinishedLife["state"],
    { tag, correlationId }: { readonly tag?: string; readonly correlationId?: string },
  ): ReadonlyArray<string> {
    const rows =
      state === "pending" ? [...this.pending.values()] : this.#lives.filter((life) => life.state === state)
    return rows
      .filter((row) => tag === undefined || (row.tags?.includes(tag) ?? false))
      .filter((row) => correlationId === undefined || row.correlationId === correlationId)
      .map(({ fireId }) => fireId)
  }

  get letters(): ReadonlyArray<FinishedLife> {
    return this.#lives.filter(({ state }) => state === "dead")
  }

  /** Builds the item of the step for the current state and applies it. Undefined if the item makes no sense there. */
  take(step: Step): WriteItem | undefined {
    this.#now += step.b
    const item = this.#itemOf(step)
    if (item === undefined) return undefined
    const { uuid } = keyOfItem(item)
    const lives = this.#lives.filter((life) => life.uuid === uuid)
    const decision = decide(item, { pending: this.pending.get(uuid), last: this.last(uuid), lives })
    const before = this.pending.get(uuid)
    if (decision.pending === null) this.pending.delete(uuid)
    else if (decision.pending !== undefined) {
      if (before !== undefined) this.#replaced.push(before)
      this.pending.set(uuid, decision.pending)
    }
    if (decision.finished !== undefined) this.#finish(decision.finished)
    if (decision.removesDead !== undefined) {
      this.#lives.splice(this.#lives.indexOf(decision.removesDead), 1)
      this.#gone.push(decision.removesDead)
    }
    this.tally = sum(this.tally, decision.tally ?? {})
    this.answers.push(decision.answer)
    this.#items.push(item)
    return item
  }

  #finish(life: FinishedLife): void {
    const index = this.#lives.findIndex(({ uuid, fireId }) => uuid === life.uuid && fireId === life.fireId)
    if (index === -1) this.#lives.push(life)
    else this.#lives[index] = life
  }

  #itemOf({ op, key, a, b }: Step): WriteItem | undefined {
    const named = keyOf(this.namespace, `k${key}`)
    const pending = this.pending.get(named.uuid)
    const inFlight = b === 1 && pending !== undefined ? { inFlight: pending.fireId } : {}
    const ifRevision = b === 2 && pending !== undefined ? { ifRevision: pending.revision - (a % 2) } : {}
    switch (op) {
      case "put": {
        const timer = sampleTimer({
          namespace: this.namespace,
          timerId: `k${key}`,
          executeAt: a % 3 === 0 ? sampleNow - 5 : this.#now + a * 1_000,
          createdAt: this.#now,
          ...(a % 2 === 0 ? {} : { payload: new Uint8Array([a, b]) }),
          ...(b === 3 ? {} : { tags: [`tag-${a % 2}`, "all"] }),
          correlationId: `c-${b % 2}`,
        })
        return putOf(timer, at(["replace", "keep", "fail", "replace", "replace"], b))
      }
      case "change":
        return changeOf(
          named,
          a % 2 === 0
            ? { executeAt: this.#now + a, ...(b === 4 ? { tags: null } : b === 3 ? { tags: ["tag-1"] } : {}) }
            : { payload: a % 3 === 0 ? null : new Uint8Array([a]) },
          {
            at: this.#now,
            ...inFlight,
            ...ifRevision,
          },
        )
      case "schedule": {
        const timer = sampleTimer({
          namespace: this.namespace,
          timerId: `k${key}`,
          executeAt: a % 4 === 0 ? (pending?.executeAt ?? this.#now) : this.#now + a * 1_000,
          createdAt: this.#now,
          updatedAt: this.#now,
          // Some commands were sent before the current state was set, some in the same millisecond.
          askedAt: this.#now + (a % 3) - 1,
          correlationId: `c-${a % 2}`,
          spec: { ...sampleSpec, target: { type: "event" } },
          ...(a % 5 === 0 ? { payload: new Uint8Array([a]) } : {}),
        })
        const sets = b === 3 ? { setsRetryPolicy: true as const } : {}
        const cancels = b === 4 ? { cancels: true as const } : {}
        return scheduleOf(timer, { madeCorrelationId: b % 2 === 0, ...inFlight, ...sets, ...cancels })
      }
      case "cancel":
        return cancelOf(named, { at: this.#now, ...inFlight, ...ifRevision })
      case "outcome":
        return pending === undefined
          ? undefined
          : outcomeOf(pending, thenOf(a, this.#now), {
              at: this.#now,
              attempt: pending.attempts + (b === 4 ? 2 : 1),
            })
      case "record":
        return this.#recordOf(a)
      case "replay":
      case "discard": {
        const lives = (b === 4 ? this.#gone : this.letters).filter(({ uuid }) => uuid === named.uuid)
        const dead = lives[a % Math.max(1, lives.length)]
        if (dead === undefined) return undefined
        return op === "replay" ? replayOf(dead, { at: this.#now }) : discardOf(dead, { at: this.#now })
      }
      case "repeat":
        return this.#items[this.#items.length - 1 - (a % Math.max(1, this.#items.length))]
      case "carried":
        return this.#carried({ op, key, a, b })
    }
  }

  /** A write that an owner may have got before. It was done long ago, or just now, or not at all. */
  #carried({ key, a, b }: Step): WriteItem | undefined {
    const ops = ["put", "change", "cancel", "replay", "discard", "repeat", "repeat", "repeat"] as const
    const item = this.#itemOf({ op: at(ops, (a + b) % ops.length), key, a, b: a % 5 })
    switch (item?.kind) {
      case "put":
      case "change":
      case "cancel":
      case "replay":
      case "discard":
        return { ...item, isRepeat: true }
      default:
        return undefined
    }
  }

  /** An attempt that outlived its arming, because the timer was replaced or cancelled while it ran. */
  #recordOf(a: number): WriteItem | undefined {
    const timer = this.#replaced.at(-1 - (a % Math.max(1, this.#replaced.length)))
    const ended = this.#lives.filter(({ state }) => state === "cancelled").at(-1)
    const {
      fireAt: _,
      updatedAt: __,
      askedAt: ___,
      payload: ____,
      firstAttemptAt: _____,
      ...kept
    } = timer ?? sampleTimer()
    // An arming that a retry or a re-arming continued was not replaced.
    const isOpen = timer !== undefined && this.pending.get(timer.uuid)?.fireId !== timer.fireId
    const wasReplaced = isOpen && !this.#lives.some(({ fireId }) => fireId === timer.fireId)
    const life: FinishedLife | undefined = wasReplaced
      ? { ...kept, state: "delivered", attempts: kept.attempts + 1, finishedAt: this.#now, latenessMs: 1 }
      : ended === undefined
        ? undefined
        : {
            ...withoutEndedBy(ended),
            revision: ended.revision - 1,
            state: "delivered",
            finishedAt: this.#now,
            latenessMs: 2,
          }
    return life === undefined ? undefined : { kind: "record", life }
  }
}

const withoutEndedBy = ({ endedBy: _, ...life }: FinishedLife): FinishedLife => life

const thenOf = (a: number, now: number): Then =>
  a % 4 === 0
    ? { to: "delivered", latenessMs: a }
    : a % 4 === 1
      ? { to: "retry", fireAt: now + a }
      : a % 4 === 2
        ? {
            to: "rearmed",
            executeAt: now + a,
            fireId: sampleId(),
            latenessMs: 0,
            ...(a > 5 ? { payload: new Uint8Array([a]) } : {}),
          }
        : a % 8 === 3
          ? { to: "dead", reason: "refused" }
          : { to: "dropped", reason: "expired" }

const names = Object.keys(emptyTally) as ReadonlyArray<keyof Tally>

const sum = (a: Tally, b: Partial<Tally>): Tally => {
  const total: { -readonly [name in keyof Tally]: number } = { ...a }
  for (const name of names) total[name] += b[name] ?? 0
  return total
}

const difference = (a: Tally, b: Tally): Tally => {
  const rest: { -readonly [name in keyof Tally]: number } = { ...a }
  for (const name of names) rest[name] -= b[name]
  return rest
}
