// Writes changes of calls: reads the record, decides, and stores the decision if the record has not changed meanwhile.
// Orchestration and the API both use it, so there is one way to change a call.
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { RequestSeal } from "../calls/RequestSeal.ts"
import type { CallChange } from "../domain/CallChange.ts"
import type { CallRecord } from "../domain/CallRecord.ts"
import { type AskedCall, type NewCallIds, newCall } from "../domain/newCall.ts"
import type { MessageCause } from "../domain/OutboxMessage.ts"
import type { CallKey, RequestSpec } from "../domain/ServiceCall.ts"
import {
  type AttemptProgress,
  type CallMessage,
  type TransitionTerms,
  transition,
} from "../domain/transition.ts"
import { AgentIds } from "../ports/AgentIds.ts"
import { CallStore, type CallStoreError, type StoredAttempt } from "../ports/CallStore.ts"
import { Steps } from "../ports/Steps.ts"
import { CallSignals } from "./CallSignals.ts"

/** Others changed the call again and again. A later try can succeed. */
export class CallContended extends Schema.TaggedError<CallContended>()("CallContended", {
  message: Schema.String,
}) {}

export type Applied =
  | { readonly kind: "changed"; readonly record: CallRecord; readonly isRescue: boolean }
  | { readonly kind: "ignored"; readonly record: CallRecord; readonly reason: string }
  | { readonly kind: "conflict"; readonly record: CallRecord; readonly message: string }
  | { readonly kind: "missing" }

type Deciding =
  | { readonly kind: "changed"; readonly change: CallChange; readonly isRescue?: true }
  | { readonly kind: "ignored"; readonly reason: string }
  | { readonly kind: "conflict"; readonly message: string }

export type CallDecider = (record: CallRecord, terms: TransitionTerms) => Deciding

const triesAtMost = 3

export class CallWriter extends Context.Service<
  CallWriter,
  {
    /** `isNew` is false if the id exists. Then the record is the stored one. */
    submit(
      asked: AskedCall & { readonly request: RequestSpec },
      ids: NewCallIds,
    ): Effect.Effect<{ readonly record: CallRecord; readonly isNew: boolean }, CallStoreError>
    /** Applies a message to a call. */
    apply(
      key: CallKey,
      message: CallMessage,
      cause?: MessageCause,
    ): Effect.Effect<Applied, CallStoreError | CallContended>
    /** Changes a call by a decision of the caller. */
    decide(key: CallKey, decider: CallDecider): Effect.Effect<Applied, CallStoreError | CallContended>
  }
>()("punctual/agent/CallWriter") {
  static readonly layer = (options: {
    /** How long a call may take. */
    readonly callTimeoutMs: number
  }): Layer.Layer<CallWriter, never, CallStore | CallSignals | RequestSeal> =>
    Layer.effect(
      CallWriter,
      Effect.gen(function* () {
        const store = yield* CallStore
        const signals = yield* CallSignals
        const seal = yield* RequestSeal
        const ids = yield* AgentIds
        const steps = yield* Steps

        const termsAt = (nowMs: number, cause?: MessageCause): TransitionTerms => ({
          nowMs,
          timeoutMs: options.callTimeoutMs,
          newId: () => ids.uuidAt(nowMs),
          ...(cause === undefined ? {} : { cause }),
        })

        const change = Effect.fnUntraced(function* (
          key: CallKey,
          decider: (record: CallRecord, terms: TransitionTerms) => Effect.Effect<Deciding, CallStoreError>,
          cause?: MessageCause,
        ) {
          for (let tries = 0; tries < triesAtMost; tries++) {
            const record = yield* store.find(key)
            if (record === undefined) return { kind: "missing" } satisfies Applied as Applied
            const decision = yield* decider(record, termsAt(yield* Clock.currentTimeMillis, cause))
            if (decision.kind !== "changed") return { ...decision, record } satisfies Applied as Applied
            yield* steps.reached("orchestration.beforeCommit", key)
            if (!(yield* store.commit(record.call.version, decision.change))) continue
            yield* steps.reached("orchestration.committed", key)
            signals.changed(decision.change.record)
            const { record: after } = decision.change
            return {
              kind: "changed",
              record: after,
              isRescue: decision.isRescue === true,
            } satisfies Applied as Applied
          }
          return yield* new CallContended({
            message: `The call was changed by others ${triesAtMost} times meanwhile.`,
          })
        })

        const apply = Effect.fnUntraced(function* (key: CallKey, message: CallMessage, cause?: MessageCause) {
          return yield* change(
            key,
            (record, terms) =>
              Effect.map(withProgress(store, record, message), (known) => transition(record, known, terms)),
            cause,
          )
        })

        return {
          apply,
          decide: (key, decider) => change(key, (record, terms) => Effect.succeed(decider(record, terms))),
          submit: Effect.fnUntraced(function* (asked, given) {
            const submitted = newCall(asked, given, termsAt(yield* Clock.currentTimeMillis))
            const key = submitted.record.call
            const present = yield* store.submit(submitted, seal.seal(key, asked.request))
            if (present !== undefined) return { record: present, isNew: false }
            yield* steps.reached("submit.stored", key)
            signals.changed(submitted.record)
            return { record: submitted.record, isNew: true }
          }),
        }
      }),
    )
}

/** The watchdog and the sweep decide by what is known about the attempt. */
const withProgress = (
  store: CallStore["Service"],
  { call }: CallRecord,
  message: CallMessage,
): Effect.Effect<CallMessage, CallStoreError> => {
  const { tenantId, attemptId, state } = call
  const isAsked = message.kind === "watchdog" || message.kind === "sweep"
  if (!isAsked || state !== "Running" || attemptId === undefined) return Effect.succeed(message)
  return Effect.map(store.attemptOf({ tenantId, attemptId }), (stored) =>
    stored === undefined ? message : { ...message, attempt: progressOf(stored) },
  )
}

const progressOf = ({ state, startedAt = 0, ended }: StoredAttempt): AttemptProgress => {
  if (ended !== undefined) return { state: "ended", outcome: ended.outcome }
  return state === "calling" ? { state, startedAt } : { state: "claimed" }
}
