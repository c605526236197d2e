// Handles the commands of other services that come over the bus. The terms of the messages (tenantId, serviceCallId,
// dueAt) are mapped to the product's own terms here, and mapped back in the event deliverer.
import { cancelTimerType, decodeCancelTimer } from "@punctual/api/CancelTimer"
import { formatDuration } from "@punctual/api/DurationMs"
import { memberSpan, spanBytes } from "@punctual/api/JsonSpan"
import { type Limits, limitHint } from "@punctual/api/Limits"
import { completeRetryPolicy, defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { decodeScheduleTimer, type ScheduleTimer, scheduleTimerType } from "@punctual/api/ScheduleTimer"
import { whyNotVisible } from "@punctual/api/whyNotVisible"
import {
  Bus,
  type BusError,
  type HandlerFailure,
  HandlerUnavailable,
  type Message,
  MessagePostponed,
  MessageRefused,
} from "@punctual/bus/Bus"
import { MessageMetadata } from "@punctual/bus/MessageMetadata"
import { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { spanContextOf } from "@punctual/telemetry/SpanContext"
import { Tracing } from "@punctual/telemetry/Tracing"
import { Context, Effect, Exit, Layer, Option, Result, Scope } from "effect"
import type { RetryPolicy, Spec } from "../domain/Timer.ts"
import { addedAfter } from "../domain/timerFields.ts"
import type { RefusedWrite } from "../engine/front/RefusedWrite.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import type { ScheduleCommand } from "../engine/front/scheduleItem.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { WallClock } from "../ports/WallClock.ts"
import { BusMetrics } from "./BusMetrics.ts"
import { timerGroup } from "./timerRouting.ts"

export interface TimerCommandsOptions {
  /** The topic of the commands. */
  readonly topic: string
  /** The limits of the contract: how far ahead a due time may be, and how large a payload may be. */
  readonly limits: Limits
}

export class TimerCommands extends Context.Service<
  TimerCommands,
  {
    /** Takes no more commands. Running ones may finish within a bound. */
    readonly stop: Effect.Effect<void>
    /** The number of received commands and the lag, in Prometheus format. */
    readonly metrics: Effect.Effect<string>
    /** Why no commands are received yet. `undefined` once the broker is reachable. */
    whyWaiting(): string | undefined
  }
>()("punctual/messaging/TimerCommands") {
  static readonly layer = (
    options: TimerCommandsOptions,
  ): Layer.Layer<
    TimerCommands,
    BusError,
    Bus | UndeliverableMessages | Scheduler | NamespaceDirectory | WallClock
  > =>
    Layer.effect(
      TimerCommands,
      Effect.gen(function* () {
        const { limits } = options
        const bus = yield* Bus
        const undeliverable = yield* UndeliverableMessages
        const scheduler = yield* Scheduler
        const directory = yield* NamespaceDirectory
        const wall = yield* WallClock
        const tracing = Option.getOrUndefined(yield* Effect.serviceOption(Tracing))
        const metrics = yield* BusMetrics.make
        const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
        yield* bus
          .subscribe({
            group: timerGroup,
            topic: options.topic,
            types: new Set([scheduleTimerType, cancelTimerType]),
            handle: (message) =>
              handle({ scheduler, directory, limits, nowMs: wall.now(), tracing }, message),
            observe: (observed) => metrics.count(observed),
          })
          .pipe(Scope.provide(scope))
        return {
          stop: Scope.close(scope, Exit.void),
          metrics: metrics.text(bus.sample(timerGroup), undeliverable.oldestAt, wall),
          whyWaiting: () => bus.whyWaiting(),
        }
      }),
    )
}

/** A timer that was requested over the bus fires on the bus. */
const specOf = (retryPolicy: RetryPolicy): Spec => ({ target: { type: "event" }, retryPolicy })

/** Shared by most timers. */
const defaultSpec = specOf(defaultRetryPolicy)

interface CommandParts {
  readonly scheduler: Pick<Scheduler["Service"], "schedule" | "unschedule">
  readonly directory: Pick<NamespaceDirectory["Service"], "of">
  readonly limits: Limits
  readonly nowMs: number
  /** Present if traces are exported. */
  readonly tracing: Tracing["Service"] | undefined
}

const handle = (parts: CommandParts, message: Message): Effect.Effect<void, HandlerFailure> =>
  Effect.flatMap(MessageMetadata, ({ correlationId }) => {
    const correlated = correlationId === undefined ? {} : { correlationId }
    const { type, timestampMs: askedAt } = message.envelope
    if (String(type) === cancelTimerType) {
      const cancel = Result.flatMap(decodeCancelTimer(message.envelope.payload), (named) =>
        keyIn(message, named),
      )
      if (Result.isFailure(cancel)) return refused(cancel.failure)
      const command = { ...cancel.success, askedAt, spec: defaultSpec, ...correlated }
      return written(parts.scheduler.unschedule(command))
    }
    const command = scheduleIn(message, parts)
    if (Result.isFailure(command)) return refused(command.failure)
    return traced(parts.tracing, command.success, (traceparent) =>
      written(parts.scheduler.schedule({ ...command.success, ...traceparent, askedAt, ...correlated })),
    )
  })

/** The timer keeps the span of the command as its origin, if the span is recorded. */
const traced = (
  tracing: Tracing["Service"] | undefined,
  { namespace, timerId, traceparent }: Omit<ScheduleCommand, "askedAt">,
  run: (origin: Pick<ScheduleCommand, "traceparent">) => Effect.Effect<void, HandlerFailure>,
): Effect.Effect<void, HandlerFailure> => {
  const parent = traceparent === undefined ? undefined : spanContextOf(traceparent)
  const span = tracing?.begin({ parent })
  if (span === undefined) return run({})
  const end = (error: string | undefined) =>
    span.end({
      name: `process ${scheduleTimerType}`,
      kind: "consumer",
      attributes: {
        "punctual.namespace": namespace,
        "punctual.timer.id": timerId,
        "messaging.operation.type": "process",
        "error.type": error,
      },
      error,
    })
  return Effect.onExit(run({ traceparent: span.traceparent }), (exit) =>
    Effect.sync(() => end(Exit.isSuccess(exit) ? undefined : "notHandled")),
  )
}

const refused = (message: string): Effect.Effect<never, HandlerFailure> =>
  Effect.fail(new MessageRefused({ message }))

const written = (write: Effect.Effect<unknown, RefusedWrite>): Effect.Effect<void, HandlerFailure> =>
  write.pipe(Effect.mapError(failureOf), Effect.asVoid)

/** The key of the timer in a command, if the envelope names the same one. */
const keyIn = (
  { envelope }: Message,
  { tenantId, serviceCallId }: Pick<ScheduleTimer, "tenantId" | "serviceCallId">,
): Result.Result<{ readonly namespace: string; readonly timerId: string }, string> => {
  if (tenantId !== envelope.tenantId) return Result.fail("/tenantId differs from that of the envelope")
  return String(serviceCallId) === envelope.aggregateId
    ? Result.succeed({ namespace: tenantId, timerId: serviceCallId })
    : Result.fail("/serviceCallId differs from the envelope's aggregateId")
}

const scheduleIn = (
  message: Message,
  { directory, limits, nowMs }: CommandParts,
): Result.Result<Omit<ScheduleCommand, "askedAt">, string> =>
  Result.gen(function* () {
    const asked = yield* decodeScheduleTimer(message.envelope.payload, limits)
    const key = yield* keyIn(message, asked)
    const { correlationId } = message.envelope
    const whyNot = correlationId === undefined ? undefined : whyNotVisible(correlationId)
    if (whyNot !== undefined) return yield* Result.fail(`the envelope's correlationId ${whyNot}`)
    if (asked.dueAt > nowMs + limits.aheadMs) {
      return yield* Result.fail(
        `dueAt must be at most ${formatDuration(limits.aheadMs)} ahead${limitHint("aheadMs")}`,
      )
    }
    const payload = "payload" in asked ? payloadIn(message) : undefined
    if (payload !== undefined && payload.byteLength > limits.payloadBytes) {
      const { payloadBytes } = limits
      return yield* Result.fail(
        `/payload must be at most ${payloadBytes} bytes of JSON text${limitHint("payloadBytes")}`,
      )
    }
    const defaults = directory.of(key.namespace).settings.retryPolicy
    const spec =
      asked.retryPolicy === undefined && defaults === undefined
        ? defaultSpec
        : specOf(completeRetryPolicy(asked.retryPolicy, defaults))
    return {
      ...key,
      // Due order begins at the epoch.
      executeAt: Math.max(0, asked.dueAt),
      spec,
      ...(payload === undefined ? {} : { payload }),
      ...(asked.retryPolicy === undefined ? {} : { setsRetryPolicy: true as const }),
      ...addedAfter({}, asked),
    }
  })

/** The original text: parsing and writing it again would change large numbers. */
const payloadIn = ({ payloadJson }: Message): Uint8Array | undefined => {
  const span = memberSpan(payloadJson, "payload")
  return span === undefined ? undefined : spanBytes(payloadJson, span)
}

/**
 * A failure that is not caused by the message must not use up a delivery. A used-up quota concerns one tenant only, so
 * the messages of all others go on, and so do the cancels of this tenant.
 */
const failureOf = (refused: RefusedWrite): HandlerFailure => {
  switch (refused._tag) {
    case "TooManyWrites":
      return new HandlerUnavailable({
        message: "the write queue is full",
        retryAfterMs: refused.retryAfterMs,
      })
    case "NoOwner":
      return new HandlerUnavailable({ message: refused.message, retryAfterMs: refused.retryAfterMs })
    case "QuotaUsedUp":
      return new MessagePostponed({
        message: `the tenant's quota ${refused.quota} of ${refused.limit} is used up`,
        retryAfterMs: refused.retryAfterMs,
      })
    case "TimerUnstorable":
      return new MessageRefused({ message: `the store cannot hold this timer: ${refused.reason}` })
    case "TimerUnreadable":
      return new MessageRefused({ message: refused.reason })
  }
}
