// The commands of the bus for the scheduler, and the writes that they become.
import type { Spec, Timer } from "../../domain/Timer.ts"
import type { AddedTerms } from "../../domain/timerFields.ts"
import type { Schedule } from "../../domain/WriteItem.ts"

/** A ScheduleTimer of the bus. */
export interface ScheduleCommand extends AddedTerms {
  readonly namespace: string
  readonly timerId: string
  readonly executeAt: number
  /** The spec of a new timer. An existing timer keeps its own. */
  readonly spec: Spec
  /** If absent, the service makes a UUID. */
  readonly correlationId?: string
  /** The sender's timestamp of the command. */
  readonly askedAt: number
  /** If absent, an existing timer keeps its own. */
  readonly payload?: Uint8Array
  /** The command has a retry policy, which an existing timer gets too. */
  readonly setsRetryPolicy?: true
}

/** A CancelTimer of the bus. */
export type UnscheduleCommand = Omit<ScheduleCommand, "executeAt" | "payload" | "setsRetryPolicy">

/** `timer` is stored if the key is free. */
export const scheduleItem = (command: ScheduleCommand, timer: Timer): Schedule => ({
  kind: "schedule",
  timer: { ...timer, askedAt: command.askedAt },
  madeCorrelationId: command.correlationId === undefined,
  ...(command.setsRetryPolicy ? { setsRetryPolicy: true } : {}),
})

export const unscheduleItem = (command: UnscheduleCommand, timer: Timer): Schedule => ({
  kind: "schedule",
  timer: { ...timer, askedAt: command.askedAt },
  madeCorrelationId: command.correlationId === undefined,
  cancels: true,
})
