// Timers as other services ask for them over the bus. The words of the messages (tenantId, serviceCallId,
// dueAt) are mapped to the product's own here, on the way in, and in the event deliverer, on the way out.
import { formatDuration } from "@punctual/api/DurationMs"
import { defaultRetryPolicy, type RetryPolicy } from "@punctual/api/RetryPolicy"
import { decodeScheduleTimer, scheduleTimerType } from "@punctual/api/ScheduleTimer"
import {
  Bus,
  type BusError,
  type HandlerFailure,
  HandlerUnavailable,
  type Message,
  MessageRefused,
} from "@punctual/bus/Bus"
import { MessageMetadata } from "@punctual/bus/MessageMetadata"
import { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Context, Effect, Exit, Layer, Result, Scope } from "effect"
import type { Spec } from "../domain/Timer.ts"
import { type RefusedWrite, type ScheduleCommand, Scheduler } from "../engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { WallClock } from "../ports/WallClock.ts"
import { BusMetrics } from "./BusMetrics.ts"

/** All nodes of the service share the commands under this name. */
export const timerGroup = "punctual"

export interface TimerCommandsOptions {
  /** Where commands come from. */
  readonly topic: string
  /** How far ahead a due time may lie. */
  readonly aheadMs: number
}

export class TimerCommands extends Context.Service<
  TimerCommands,
  {
    /** Takes no more commands; those at work may finish within a bound. */
    readonly stop: Effect.Effect<void>
    /** What was received, and how far behind it is, as Prometheus has it. */
    readonly metrics: Effect.Effect<string>
    /** Why no command comes yet; nothing if the broker was there since the start. */
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
        const bus = yield* Bus
        const undeliverable = yield* UndeliverableMessages
        const scheduler = yield* Scheduler
        const directory = yield* NamespaceDirectory
        const wall = yield* WallClock
        const metrics = yield* BusMetrics.make
        const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
        yield* bus
          .subscribe({
            group: timerGroup,
            topic: options.topic,
            types: new Set([scheduleTimerType]),
            handle: (message) => handle(scheduler, directory, message, wall.now() + options.aheadMs, options),
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

/** A timer asked for over the bus fires on the bus. */
const specOf = (retryPolicy: RetryPolicy): Spec => ({ target: { type: "event" }, retryPolicy })

const defaultSpec = specOf(defaultRetryPolicy)

const handle = (
  scheduler: Scheduler["Service"],
  directory: Pick<NamespaceDirectory["Service"], "of">,
  message: Message,
  latestMs: number,
  options: TimerCommandsOptions,
): Effect.Effect<void, HandlerFailure> =>
  Effect.flatMap(MessageMetadata, ({ correlationId }) => {
    const { retryPolicy } = directory.of(message.envelope.tenantId).settings
    const command = commandOf(message, retryPolicy === undefined ? defaultSpec : specOf(retryPolicy))
    if (Result.isFailure(command)) return Effect.fail(new MessageRefused({ message: command.failure }))
    if (command.success.executeAt > latestMs) {
      const message = `dueAt must lie at most ${formatDuration(options.aheadMs)} ahead`
      return Effect.fail(new MessageRefused({ message }))
    }
    return scheduler
      .schedule({ ...command.success, ...(correlationId === undefined ? {} : { correlationId }) })
      .pipe(Effect.mapError(failureOf), Effect.asVoid)
  })

const commandOf = ({ envelope }: Message, spec: Spec): Result.Result<ScheduleCommand, string> =>
  Result.flatMap(decodeScheduleTimer(envelope.payload), ({ tenantId, serviceCallId, dueAt }) => {
    if (tenantId !== envelope.tenantId) return Result.fail("/tenantId differs from that of the envelope")
    if (String(serviceCallId) !== envelope.aggregateId) {
      return Result.fail("/serviceCallId differs from the envelope's aggregateId")
    }
    return Result.succeed({
      namespace: tenantId,
      timerId: serviceCallId,
      // Due order begins at the epoch.
      executeAt: Math.max(0, dueAt),
      askedAt: envelope.timestampMs,
      spec,
    })
  })

/** What says nothing about the message must not cost it a delivery. */
const failureOf = (refused: RefusedWrite): HandlerFailure => {
  switch (refused._tag) {
    case "Overloaded":
      return new HandlerUnavailable({
        message: "the write queue is full",
        retryAfterMs: refused.retryAfterMs,
      })
    case "OwnerUnavailable":
      return new HandlerUnavailable({ message: refused.message, retryAfterMs: refused.retryAfterMs })
    case "QuotaExceeded":
      return new HandlerUnavailable({
        message: `the tenant's quota ${refused.quota} of ${refused.limit} is used up`,
        retryAfterMs: refused.retryAfterMs,
      })
    case "TimerUnstorable":
      return new MessageRefused({ message: `the store cannot hold this timer: ${refused.reason}` })
    case "TimerUnreadable":
      return new MessageRefused({ message: refused.reason })
  }
}
