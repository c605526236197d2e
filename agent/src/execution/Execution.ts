// Execution makes the calls. It claims an attempt, answers the bus, and calls the service outside the handler, because a
// call may take longer than a handler. Nothing is ever called twice: only the process that moved the attempt from
// claimed to calling makes the call, and an attempt that was calling when its process ended is never repeated.
import { decodeStartExecution } from "@punctual/api/agent/StartExecution"
import {
  Bus,
  type BusError,
  type HandlerFailure,
  HandlerUnavailable,
  type Message,
  MessageRefused,
  type Observed,
} from "@punctual/bus/Bus"
import { Clock, Context, Effect, Layer, Result, Schedule, type Scope } from "effect"
import { RequestSeal } from "../calls/RequestSeal.ts"
import { redactError, redactedHeaders, redactResponse } from "../domain/redaction.ts"
import type { AttemptOutcome } from "../domain/transition.ts"
import { type AgentTopics, executionSubscription } from "../messaging/agentRouting.ts"
import { CallSignals } from "../orchestration/CallSignals.ts"
import { AgentIds } from "../ports/AgentIds.ts"
import { CallStore, type CallStoreError, type StoredAttempt, type StoredDetail } from "../ports/CallStore.ts"
import { ServiceCaller } from "../ports/ServiceCaller.ts"
import { Steps } from "../ports/Steps.ts"
import { ClaimedPages } from "./ClaimedPages.ts"
import { outcomeMessage, startedMessage } from "./executionMessages.ts"
import { defaultTurnBounds, type Turn, type TurnBounds, TurnQueue } from "./TurnQueue.ts"

export interface ExecutionOptions {
  readonly topics: AgentTopics
  /**
   * The name of this process, the same after a restart and different from all others that run. Attempts that it was
   * calling when it ended have an unknown outcome at once. Without a name, the watchdog ends them.
   */
  readonly owner?: string
  readonly bounds?: TurnBounds
  readonly observe?: (observed: Observed) => void
}

export interface ExecutionCounts {
  readonly running: number
  readonly waiting: number
  readonly called: number
}

const storeRetryMs = 1_000
/** Attempts that another process claimed and did not begin are taken over after this time. */
const takeOverAfterMs = 10_000
const takenTogether = 500
/** A call that runs for longer is slow. With a short time-out it is slow after half of it. */
const slowAfterMs = 5_000
/** The outcome of a call is stored within this time, or the watchdog ends the call. */
const storeWithinMs = 10 * 60 * 1_000

interface WaitingAttempt extends Turn {
  readonly attempt: StoredAttempt
  readonly causationId?: string
}

export class Execution extends Context.Service<Execution, { counts(): ExecutionCounts }>()(
  "punctual/agent/Execution",
) {
  static readonly layer = (
    options: ExecutionOptions,
  ): Layer.Layer<
    Execution,
    BusError | CallStoreError,
    Bus | CallStore | CallSignals | RequestSeal | ServiceCaller
  > =>
    Layer.effect(
      Execution,
      Effect.gen(function* () {
        const executing = new Executing({
          store: yield* CallStore,
          signals: yield* CallSignals,
          seal: yield* RequestSeal,
          caller: yield* ServiceCaller,
          ids: yield* AgentIds,
          steps: yield* Steps,
          fork: Effect.runForkWith(yield* Effect.context<Scope.Scope>()),
          options,
        })
        yield* executing.endInterrupted
        yield* executing.takeWaiting(0)
        const bus = yield* Bus
        yield* bus.subscribe({
          ...executionSubscription(options.topics),
          handle: (message) => executing.handle(message),
          observe: options.observe ?? (() => {}),
        })
        yield* Effect.forkScoped(
          Effect.andThen(Effect.sleep(takeOverAfterMs), executing.takeWaiting(takeOverAfterMs)).pipe(
            Effect.catchCause((cause) => Effect.logWarning("waiting attempts could not be read", cause)),
            Effect.forever,
          ),
        )
        return { counts: () => executing.counts }
      }),
    )
}

interface ExecutionParts {
  readonly store: CallStore["Service"]
  readonly signals: CallSignals["Service"]
  readonly seal: RequestSeal["Service"]
  readonly caller: ServiceCaller["Service"]
  readonly ids: typeof AgentIds.Service
  readonly steps: typeof Steps.Service
  readonly fork: (effect: Effect.Effect<unknown, never, Scope.Scope>) => unknown
  readonly options: ExecutionOptions
}

class Executing {
  readonly #parts: ExecutionParts
  readonly #queue: TurnQueue<WaitingAttempt>
  readonly #owner: string
  readonly #pages = new ClaimedPages(takenTogether)
  #called = 0

  constructor(parts: ExecutionParts) {
    this.#parts = parts
    this.#queue = new TurnQueue(parts.options.bounds ?? defaultTurnBounds)
    this.#owner = parts.options.owner ?? parts.ids.uuidAt(0)
  }

  get counts(): ExecutionCounts {
    return { running: this.#queue.running, waiting: this.#queue.waiting, called: this.#called }
  }

  /** Attempts that this process was calling when it ended. Nobody knows whether the services did the work. */
  get endInterrupted(): Effect.Effect<void, CallStoreError> {
    const self = this
    const { store, options } = this.#parts
    const { owner } = options
    if (owner === undefined) return Effect.void
    return Effect.gen(function* () {
      for (;;) {
        const found = yield* store.callingAttempts(owner, takenTogether)
        for (const attempt of found) {
          const message = "The agent ended during the call: the service may have done the work or not."
          const finishedAt = yield* Clock.currentTimeMillis
          const error = { kind: "outcomeUnknown", message } as const
          yield* self.#end(attempt, { kind: "failed", finishedAt, error })
        }
        if (found.length < takenTogether) return
      }
    })
  }

  /** Attempts that were claimed and not begun, because a process ended or its queue was full. */
  takeWaiting(claimedForMs: number): Effect.Effect<void, CallStoreError> {
    const self = this
    const { store } = this.#parts
    return Effect.gen(function* () {
      const nowMs = yield* Clock.currentTimeMillis
      const claimed = self.#pages.next(nowMs - claimedForMs + 1)
      const found = yield* store.waitingAttempts(claimed, takenTogether)
      self.#pages.wasRead(found)
      for (const attempt of found) {
        const record = yield* store.find(attempt)
        if (record?.call.state !== "Running" || record.call.attemptId !== attempt.attemptId) continue
        const { tenantId, attemptId } = attempt
        self.#queue.offer({ tenantId, attemptId, host: record.call.host, attempt })
      }
      self.#pump()
    })
  }

  handle({ envelope }: Message): Effect.Effect<void, HandlerFailure> {
    const decoded = decodeStartExecution(envelope.payload)
    if (Result.isFailure(decoded)) return Effect.fail(new MessageRefused({ message: decoded.failure }))
    const { tenantId, serviceCallId, attemptId, timeoutMs, requestSpec } = decoded.success
    if (tenantId !== envelope.tenantId || serviceCallId !== String(envelope.aggregateId)) {
      return Effect.fail(new MessageRefused({ message: "the payload names another call than the envelope" }))
    }
    const self = this
    const { store, steps, signals } = this.#parts
    const host = URL.canParse(requestSpec.url) ? new URL(requestSpec.url).host : ""
    return Effect.gen(function* () {
      const claimedAt = yield* Clock.currentTimeMillis
      const attempt = yield* store.claimAttempt({
        tenantId,
        attemptId,
        serviceCallId,
        owner: self.#owner,
        timeoutMs,
        claimedAt,
      })
      yield* steps.reached("execution.claimed", attempt)
      if (attempt.state === "claimed") {
        self.#queue.offer({ tenantId, attemptId, host, attempt, causationId: envelope.id })
        self.#pump()
      } else if (attempt.ended !== undefined) {
        // Orchestration asks again, so the message about the outcome may be lost.
        const { outcome, messageId: id } = attempt.ended
        const correlationId = envelope.correlationId ?? serviceCallId
        const message = outcomeMessage(attempt, outcome, { id, nowMs: claimedAt, correlationId })
        yield* store.resendOutcome(attempt, message)
        signals.messages.openUnsafe()
      }
    }).pipe(Effect.mapError(({ message }) => new HandlerUnavailable({ message, retryAfterMs: storeRetryMs })))
  }

  #pump(): void {
    for (let item = this.#queue.next(); item !== undefined; item = this.#queue.next()) {
      const running = item
      const slow = Effect.sync(() => {
        this.#queue.slow(running)
        this.#pump()
      }).pipe(Effect.delay(Math.min(slowAfterMs, running.attempt.timeoutMs / 2)))
      const work = Effect.andThen(Effect.forkChild(slow), this.#run(running)).pipe(
        Effect.catchCause((cause) =>
          Effect.logWarning(`an attempt of tenant ${running.tenantId} was not finished`, cause),
        ),
        Effect.ensuring(
          Effect.sync(() => {
            this.#queue.finish(running)
            this.#pump()
          }),
        ),
      )
      this.#parts.fork(Effect.forkScoped(work))
    }
  }

  #run({ attempt, causationId }: WaitingAttempt): Effect.Effect<void, CallStoreError> {
    const self = this
    const { store, steps, ids, signals } = this.#parts
    return Effect.gen(function* () {
      const detail = yield* store.detail(attempt)
      if (detail === undefined) return
      const startedAt = yield* Clock.currentTimeMillis
      const { correlationId } = detail.record.call
      const head = { correlationId, ...(causationId === undefined ? {} : { causationId }) }
      const message = startedMessage(attempt, startedAt, {
        ...head,
        id: ids.uuidAt(startedAt),
        nowMs: startedAt,
      })
      if (!(yield* store.beginAttempt(attempt, { owner: self.#owner, startedAt, message }))) return
      signals.messages.openUnsafe()
      yield* steps.reached("execution.calling", attempt)
      const outcome = yield* self.#call(attempt, detail)
      yield* steps.reached("execution.called", attempt)
      yield* self.#end(attempt, outcome, head)
      yield* steps.reached("execution.ended", attempt)
    })
  }

  #call(attempt: StoredAttempt, { sealedRequest, settings }: StoredDetail): Effect.Effect<AttemptOutcome> {
    const self = this
    const { seal, caller } = this.#parts
    return Effect.gen(function* () {
      const request = seal.open(attempt, sealedRequest)
      if (request === undefined) {
        const message = "The stored request cannot be opened with the agent's key, so nothing was called."
        const finishedAt = yield* Clock.currentTimeMillis
        return { kind: "failed", finishedAt, error: { kind: "network", message } } as const
      }
      self.#called++
      const { tenantId, attemptId, timeoutMs } = attempt
      const answer = yield* caller.call({ tenantId, request, timeoutMs, attemptId })
      const finishedAt = yield* Clock.currentTimeMillis
      // Secrets of an answer are neither stored nor sent in messages. What the tenant hides later is hidden on every read.
      const hidden = redactedHeaders(settings.hiddenHeaders)
      return answer.kind === "succeeded"
        ? { ...answer, finishedAt, response: redactResponse(answer.response, hidden) }
        : { ...answer, finishedAt, error: redactError(answer.error, hidden) }
    })
  }

  /** The call was made, so its outcome must not be lost while the store is away for a moment. */
  #end(
    attempt: StoredAttempt,
    outcome: AttemptOutcome,
    head?: { readonly correlationId: string; readonly causationId?: string },
  ): Effect.Effect<void, CallStoreError> {
    const { store, ids, signals } = this.#parts
    return Effect.gen(function* () {
      const known = head ?? (yield* store.find(attempt))?.call
      const nowMs = yield* Clock.currentTimeMillis
      const message = outcomeMessage(attempt, outcome, {
        id: ids.uuidAt(nowMs),
        nowMs,
        correlationId: known?.correlationId ?? attempt.serviceCallId,
        ...(head?.causationId === undefined ? {} : { causationId: head.causationId }),
      })
      yield* store.endAttempt(attempt, { outcome, message }).pipe(
        Effect.retry({
          schedule: Schedule.spaced(storeRetryMs),
          times: storeWithinMs / storeRetryMs,
          while: ({ isFatal }) => !isFatal,
        }),
      )
      signals.messages.openUnsafe()
    })
  }
}
