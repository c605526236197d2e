// What is asked of the scheduler over the bus, and the write that comes of it.
import type { Spec, Timer } from "../../domain/Timer.ts"
import type { AddedTerms } from "../../domain/timerFields.ts"
import type { Schedule } from "../../domain/WriteItem.ts"

/** A due time asked for over the bus. */
export interface ScheduleCommand extends AddedTerms {
  readonly namespace: string
  readonly timerId: string
  readonly executeAt: number
  /** Of the timer that it creates; one that is there keeps its own. */
  readonly spec: Spec
  /** Made (a UUID) when absent. */
  readonly correlationId?: string
  /** The sender's own time stamp of the command. */
  readonly askedAt: number
  /** Absent, a timer that is there keeps its own. */
  readonly payload?: Uint8Array
  /** The retry policy of the spec was given: a timer that is there gets it, too. */
  readonly setsRetryPolicy?: true
}

/** A timer taken back over the bus. */
export type UnscheduleCommand = Omit<ScheduleCommand, "executeAt" | "payload" | "setsRetryPolicy">

/** `timer` is what is stored if the key is free. */
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
