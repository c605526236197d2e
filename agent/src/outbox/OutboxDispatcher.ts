// Publishes the messages of the outbox: in order within a call, several calls at the same time, the tenants in turn. A
// row is removed after the broker has its message, so a message is published at least once. Only the messages of the
// calls in progress are in memory.
//
// A message that the broker does not take is tried again later, with growing pauses, and its call waits with it. While
// nothing can be published, the whole dispatcher pauses.
import { Bus, type PublishError } from "@punctual/bus/Bus"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import type { CallKey } from "../domain/ServiceCall.ts"
import { outgoingOf } from "../messaging/agentRouting.ts"
import { CallSignals } from "../orchestration/CallSignals.ts"
import { CallStore, type CallStoreError, type OutboxRow } from "../ports/CallStore.ts"
import { Steps } from "../ports/Steps.ts"

export interface DispatcherOptions {
  /** How often the dispatcher looks for messages of other processes. */
  readonly pollEveryMs?: number
  readonly callsAtOnce?: number
  readonly callsAtOncePerTenant?: number
}

export interface DispatcherCounts {
  readonly published: number
  /** Publishes that failed and are tried again. */
  readonly failed: number
  /** Messages that no broker can ever take, and that were given up. */
  readonly dropped: number
}

export interface DispatcherHealth {
  /** How long ago the dispatcher last looked for messages, or tried to. */
  readonly idleMs: number
  /** Why nothing can be published now. One sentence for each reason. */
  readonly troubles: ReadonlyArray<string>
}

const defaultPollMs = 500
const tenantsInTurn = 32
const messagesTogether = 16
/** A call with more messages waits for its next turn. */
const roundsPerCall = 8
const shortestPauseMs = 200
const longestPauseMs = 10_000
const longestDeferMs = 30_000
/** After this many failures in a row the broker counts as away. */
const failuresBeforePause = 8

export class OutboxDispatcher extends Context.Service<
  OutboxDispatcher,
  { counts(): DispatcherCounts; health(): DispatcherHealth }
>()("punctual/agent/OutboxDispatcher") {
  static readonly layer = (
    options: DispatcherOptions = {},
  ): Layer.Layer<OutboxDispatcher, never, Bus | CallStore | CallSignals> =>
    Layer.effect(
      OutboxDispatcher,
      Effect.gen(function* () {
        const dispatching = new Dispatching({
          bus: yield* Bus,
          store: yield* CallStore,
          signals: yield* CallSignals,
          steps: yield* Steps,
          clock: yield* Clock.Clock,
          fork: Effect.runForkWith(yield* Effect.context<Scope.Scope>()),
          options,
        })
        yield* Effect.forkScoped(dispatching.run)
        return { counts: () => dispatching.counts, health: () => dispatching.health }
      }),
    )
}

interface DispatcherParts {
  readonly bus: Bus["Service"]
  readonly store: CallStore["Service"]
  readonly signals: CallSignals["Service"]
  readonly steps: typeof Steps.Service
  readonly clock: Clock.Clock
  readonly fork: (effect: Effect.Effect<unknown, never, Scope.Scope>) => unknown
  readonly options: DispatcherOptions
}

class Dispatching {
  readonly counts = { published: 0, failed: 0, dropped: 0 }
  readonly #parts: DispatcherParts
  readonly #busy = new Set<string>()
  readonly #busyPerTenant = new Map<string, number>()
  readonly #atOnce: number
  readonly #atOncePerTenant: number
  #turn = ""
  #failuresInRow = 0
  #storeTrouble: string | undefined
  #lookedNanos: bigint

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#lookedNanos = parts.clock.monotonicTimeNanosUnsafe()
    this.#atOnce = parts.options.callsAtOnce ?? 128
    this.#atOncePerTenant = parts.options.callsAtOncePerTenant ?? 16
  }

  get health(): DispatcherHealth {
    const { bus, clock } = this.#parts
    const brokerTrouble =
      bus.whyWaiting() ??
      (this.#failuresInRow >= failuresBeforePause ? "The message broker takes no messages." : undefined)
    return {
      idleMs: Number((clock.monotonicTimeNanosUnsafe() - this.#lookedNanos) / 1_000_000n),
      troubles: [this.#storeTrouble, brokerTrouble].filter((trouble) => trouble !== undefined),
    }
  }

  get run(): Effect.Effect<never> {
    const self = this
    const { messages } = this.#parts.signals
    const pollMs = this.#parts.options.pollEveryMs ?? defaultPollMs
    return Effect.gen(function* () {
      for (;;) {
        messages.closeUnsafe()
        self.#lookedNanos = self.#parts.clock.monotonicTimeNanosUnsafe()
        const isMore = yield* Effect.catch(self.#round(), (error) => {
          self.#storeTrouble = `The store does not answer: ${error.message}`
          return Effect.as(
            Effect.logWarning(`the outbox cannot be read, so nothing is published: ${error.message}`),
            false,
          )
        })
        if (!isMore) yield* Effect.timeoutOption(messages.await, pollMs)
        if (self.#failuresInRow >= failuresBeforePause) yield* Effect.sleep(self.#pauseMs)
      }
    })
  }

  get #pauseMs(): number {
    const doublings = Math.min(10, this.#failuresInRow - failuresBeforePause)
    return Math.min(longestPauseMs, shortestPauseMs * 2 ** doublings)
  }

  /** Starts what there is room for. Returns whether there are tenants that were not visited. */
  #round(): Effect.Effect<boolean, CallStoreError> {
    const self = this
    return Effect.gen(function* () {
      if (self.#busy.size >= self.#atOnce) return false
      const { keys, lastTenant } = yield* self.#parts.store.outboxHeads({
        nowMs: yield* Clock.currentTimeMillis,
        exclusiveAfterTenant: self.#turn,
        tenants: tenantsInTurn,
        callsPerTenant: 4 * self.#atOncePerTenant,
      })
      self.#storeTrouble = undefined
      const hasBegunLater = self.#turn !== ""
      self.#turn = lastTenant ?? ""
      for (const key of keys) self.#start(key)
      return lastTenant !== undefined || (hasBegunLater && keys.length > 0)
    })
  }

  #start(key: CallKey): void {
    const name = `${key.tenantId}/${key.serviceCallId}`
    const ofTenant = this.#busyPerTenant.get(key.tenantId) ?? 0
    if (this.#busy.has(name) || this.#busy.size >= this.#atOnce || ofTenant >= this.#atOncePerTenant) return
    this.#busy.add(name)
    this.#busyPerTenant.set(key.tenantId, ofTenant + 1)
    const release = Effect.sync(() => {
      this.#busy.delete(name)
      const left = (this.#busyPerTenant.get(key.tenantId) ?? 1) - 1
      if (left > 0) this.#busyPerTenant.set(key.tenantId, left)
      else this.#busyPerTenant.delete(key.tenantId)
    })
    // After a failure, or if another process has the call, the dispatcher does not look again at once.
    const lookAgain = (isDone: boolean) =>
      Effect.sync(() => {
        if (isDone) this.#parts.signals.messages.openUnsafe()
      })
    const work = Effect.scoped(this.#publishCall(key)).pipe(
      Effect.ensuring(release),
      Effect.flatMap(lookAgain),
      Effect.catchCause((cause) =>
        Effect.logWarning(
          `messages of a call of tenant ${key.tenantId} were not published; they stay`,
          cause,
        ),
      ),
    )
    this.#parts.fork(Effect.forkScoped(work))
  }

  /** Returns whether this process had the call. */
  #publishCall(key: CallKey): Effect.Effect<boolean, CallStoreError, Scope.Scope> {
    const self = this
    const { store, steps } = this.#parts
    return Effect.gen(function* () {
      if (!(yield* store.hold(key))) return false
      for (let round = 0; round < roundsPerCall; round++) {
        const rows = yield* store.outboxOf(key, messagesTogether)
        if (rows.length === 0) return true
        yield* steps.reached("outbox.beforePublish", key)
        const published = yield* self.#publish(key, rows)
        if (published === undefined) return true
        yield* steps.reached("outbox.published", key)
        yield* store.removeMessages(key, published)
        yield* steps.reached("outbox.removed", key)
      }
      return true
    })
  }

  /** The rows that can be removed. `undefined` if they must be tried again later. */
  #publish(
    key: CallKey,
    rows: ReadonlyArray<OutboxRow>,
  ): Effect.Effect<ReadonlyArray<OutboxRow> | undefined, CallStoreError> {
    return Effect.suspend(() =>
      this.#parts.bus.publish(rows.map(({ message }) => outgoingOf(key.tenantId, message))),
    ).pipe(
      Effect.map((): ReadonlyArray<OutboxRow> | undefined => {
        this.counts.published += rows.length
        this.#failuresInRow = 0
        return rows
      }),
      Effect.catchTag("PublishError", (error) => this.#failed(key, rows, error)),
    )
  }

  #failed(
    key: CallKey,
    rows: ReadonlyArray<OutboxRow>,
    error: PublishError,
  ): Effect.Effect<ReadonlyArray<OutboxRow> | undefined, CallStoreError> {
    const self = this
    return Effect.gen(function* () {
      const [first] = rows
      // One message of several is at fault: the first is published alone, and the others follow in the next round.
      if (error.isPermanent && first !== undefined && rows.length > 1)
        return yield* self.#publish(key, [first])
      if (error.isPermanent) {
        self.counts.dropped += rows.length
        yield* Effect.logError(
          `a message ${first?.message.type} of tenant ${key.tenantId} was given up: ${error.message}`,
        )
        return rows
      }
      self.counts.failed++
      self.#failuresInRow++
      const pauseMs = Math.min(longestDeferMs, shortestPauseMs * 2 ** Math.min(10, first?.tries ?? 0))
      yield* self.#parts.store.deferMessages(key, (yield* Clock.currentTimeMillis) + pauseMs)
      return undefined
    })
  }
}
