// Orchestration takes the messages about calls from the bus and applies them. It also sweeps: it does the work of
// messages that were lost, and removes calls that ended long ago.
import { decodeExecutionFailed, executionFailedType } from "@punctual/api/agent/ExecutionFailed"
import { decodeExecutionStarted, executionStartedType } from "@punctual/api/agent/ExecutionStarted"
import { decodeExecutionSucceeded, executionSucceededType } from "@punctual/api/agent/ExecutionSucceeded"
import { decodeSubmitServiceCall, submitServiceCallType } from "@punctual/api/agent/SubmitServiceCall"
import { decodeDueTimeReached } from "@punctual/api/DueTimeReached"
import {
  Bus,
  type BusError,
  type HandlerFailure,
  HandlerUnavailable,
  type Message,
  MessageFailed,
  MessageRefused,
  type Observed,
} from "@punctual/bus/Bus"
import { Clock, Context, Effect, Layer, Result } from "effect"
import { timerNameOf } from "../domain/CallRecord.ts"
import type { CallKey } from "../domain/ServiceCall.ts"
import type { CallMessage } from "../domain/transition.ts"
import { type AgentTopics, orchestrationSubscriptions } from "../messaging/agentRouting.ts"
import { CallStore, type CallStoreError } from "../ports/CallStore.ts"
import { type CallContended, CallWriter } from "./CallWriter.ts"

export interface OrchestrationOptions {
  readonly topics: AgentTopics
  /** How long ended calls are kept. */
  readonly retentionMs: number
  readonly sweepEveryMs?: number
  readonly observe?: (observed: Observed) => void
}

export interface OrchestrationCounts {
  /** Calls whose message was lost, so that the sweep did its work. */
  readonly rescued: number
  readonly pruned: number
  /** Messages that came again or too late. */
  readonly ignored: number
}

const storeRetryMs = 1_000
const sweptTogether = 100
/** One sweep ends after this many batches. The next one goes on. */
const batchesAtMost = 50
const sweepsAtOnce = 8
const prunedTogether = 500

export class Orchestration extends Context.Service<
  Orchestration,
  {
    counts(): OrchestrationCounts
    /** One sweep, for tests that do not wait for the next one. */
    readonly sweep: Effect.Effect<void, CallStoreError>
  }
>()("punctual/agent/Orchestration") {
  static readonly layer = (
    options: OrchestrationOptions,
  ): Layer.Layer<Orchestration, BusError, Bus | CallStore | CallWriter> =>
    Layer.effect(
      Orchestration,
      Effect.gen(function* () {
        const bus = yield* Bus
        const store = yield* CallStore
        const writer = yield* CallWriter
        const counts = { rescued: 0, pruned: 0, ignored: 0 }

        const handle = (message: Message): Effect.Effect<void, HandlerFailure> => {
          const known = meaningOf(message)
          if (Result.isFailure(known)) return Effect.fail(new MessageRefused({ message: known.failure }))
          if (known.success === undefined) return Effect.void
          const { key, meaning } = known.success
          const { id, causationId } = message.envelope
          const cause = { messageId: id, ...(causationId === undefined ? {} : { causationId }) }
          return writer.apply(key, meaning, cause).pipe(
            Effect.mapError(failureOf),
            Effect.flatMap((applied) => {
              if (applied.kind === "ignored") counts.ignored++
              // Only the API makes calls. A command for an unknown call is a mistake that an operator should see.
              return applied.kind === "missing" && meaning.kind === "submit"
                ? Effect.fail(new MessageRefused({ message: "there is no such call: submit it to the API" }))
                : Effect.void
            }),
          )
        }

        const sweepOne = (key: CallKey) =>
          writer.apply(key, { kind: "sweep" }).pipe(
            Effect.map((applied) => {
              if (applied.kind !== "changed") return 0
              if (applied.isRescue) counts.rescued++
              return 1
            }),
            // The next sweep looks at the call again.
            Effect.catchTag("CallContended", () => Effect.succeed(0)),
          )

        const sweep = Effect.gen(function* () {
          for (let batch = 0; batch < batchesAtMost; batch++) {
            const open = yield* store.openCalls(yield* Clock.currentTimeMillis, sweptTogether)
            const changed = yield* Effect.forEach(open, ({ call }) => sweepOne(call), {
              concurrency: sweepsAtOnce,
            })
            if (open.length < sweptTogether || changed.every((count) => count === 0)) return
          }
        })

        const prune = Effect.gen(function* () {
          const exclusiveBefore = (yield* Clock.currentTimeMillis) - options.retentionMs
          for (let batch = 0; batch < batchesAtMost; batch++) {
            const pruned = yield* store.prune(exclusiveBefore, prunedTogether)
            counts.pruned += pruned
            if (pruned < prunedTogether) return
          }
        })

        for (const subscription of orchestrationSubscriptions(options.topics)) {
          yield* bus.subscribe({ ...subscription, handle, observe: options.observe ?? (() => {}) })
        }
        yield* Effect.forkScoped(
          Effect.andThen(Effect.sleep(options.sweepEveryMs ?? 10_000), Effect.andThen(sweep, prune)).pipe(
            Effect.catchCause((cause) =>
              Effect.logWarning("a sweep of the agent failed; the next one goes on", cause),
            ),
            Effect.forever,
          ),
        )
        return { counts: () => counts, sweep }
      }),
    )
}

const failureOf = (error: CallStoreError | CallContended): HandlerFailure =>
  error._tag === "CallContended"
    ? new MessageFailed({ message: error.message })
    : new HandlerUnavailable({ message: error.message, retryAfterMs: storeRetryMs })

interface Meaning {
  readonly key: CallKey
  readonly meaning: CallMessage
}

/** What a message means to a call. `undefined` if the message is not for the agent. */
const meaningOf = ({ envelope }: Message): Result.Result<Meaning | undefined, string> => {
  const { payload } = envelope
  switch (String(envelope.type)) {
    case submitServiceCallType:
      return Result.flatMap(decodeSubmitServiceCall(payload), (asked) =>
        keyed(envelope, asked, { kind: "submit" }),
      )
    case executionStartedType:
      return Result.flatMap(decodeExecutionStarted(payload), (event) => {
        const { attemptId, startedAt } = event
        return keyed(envelope, event, { kind: "executionStarted", attemptId, startedAt })
      })
    case executionSucceededType:
      return Result.flatMap(decodeExecutionSucceeded(payload), (event) => {
        const { attemptId, finishedAt, responseMeta: response } = event
        const outcome = { kind: "succeeded", finishedAt, response } as const
        return keyed(envelope, event, { kind: "executionEnded", attemptId, outcome })
      })
    case executionFailedType:
      return Result.flatMap(decodeExecutionFailed(payload), (event) => {
        const { attemptId, finishedAt, errorMeta: error } = event
        const outcome = { kind: "failed", finishedAt, error } as const
        return keyed(envelope, event, { kind: "executionEnded", attemptId, outcome })
      })
    default:
      return dueTimeIn(envelope)
  }
}

/** Other products use the Timer too. Their timers have other ids. */
const dueTimeIn = (envelope: Message["envelope"]): Result.Result<Meaning | undefined, string> =>
  Result.flatMap(decodeDueTimeReached(envelope.payload), ({ tenantId, serviceCallId }) => {
    const timer = timerNameOf(serviceCallId)
    if (timer === undefined) return Result.succeed(undefined)
    if (tenantId !== envelope.tenantId) return Result.fail(otherTenant)
    const { kind, n } = timer
    const meaning: CallMessage = kind === "due" ? { kind: "dueTimeReached", n } : { kind: "watchdog", n }
    return Result.succeed({ key: { tenantId, serviceCallId: timer.serviceCallId }, meaning })
  })

const otherTenant = "/tenantId differs from that of the envelope"

/** The bus keeps tenants apart by the envelope, so the payload must name the same one. */
const keyed = (
  envelope: Message["envelope"],
  { tenantId, serviceCallId }: { readonly tenantId: string; readonly serviceCallId: string },
  meaning: CallMessage,
): Result.Result<Meaning, string> => {
  if (tenantId !== envelope.tenantId) return Result.fail(otherTenant)
  if (serviceCallId !== String(envelope.aggregateId)) {
    return Result.fail("/serviceCallId differs from the envelope's aggregateId")
  }
  return Result.succeed({ key: { tenantId, serviceCallId }, meaning })
}
