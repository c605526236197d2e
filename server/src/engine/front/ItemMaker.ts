// Turns commands of callers into items of the write queue. Items have their own instants and ids, so that a repeated
// item is the same item.
import type { Mutable, Timer, TimerKey } from "../../domain/Timer.ts"
import { keyOf } from "../../domain/TimerKey.ts"
import { copyAdded } from "../../domain/timerFields.ts"
import type { Cancel, Change, Put, Schedule } from "../../domain/WriteItem.ts"
import { madeCorrelationId } from "../../domain/words.ts"
import type { Ids } from "../../ports/Ids.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { CreateCommand, UpdateCommand } from "./Scheduler.ts"
import { type ScheduleCommand, scheduleItem, type UnscheduleCommand, unscheduleItem } from "./scheduleItem.ts"

export interface ItemMakerParts {
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: Pick<EngineMetrics, "received">
}

export class ItemMaker {
  readonly #parts: ItemMakerParts

  constructor(parts: ItemMakerParts) {
    this.#parts = parts
  }

  put(command: CreateCommand): Put {
    this.#parts.metrics.received("create")
    return {
      kind: "put",
      onExisting: command.onExisting,
      madeCorrelationId: command.correlationId === undefined,
      timer: this.#timerFor(command),
    }
  }

  schedule(command: ScheduleCommand): Schedule {
    this.#parts.metrics.received("schedule")
    return scheduleItem(command, this.#timerFor(command))
  }

  unschedule(command: UnscheduleCommand): Schedule {
    this.#parts.metrics.received("cancel")
    return unscheduleItem(command, this.#timerFor({ ...command, executeAt: command.askedAt }))
  }

  change({ namespace, timerId, ifRevision, set }: UpdateCommand): Change {
    const { wall, ids, metrics } = this.#parts
    metrics.received("update")
    const at = wall.now()
    const change: Change = {
      kind: "change",
      key: keyOf(namespace, timerId),
      fireId: ids.uuidV7(at),
      at,
      set,
    }
    return ifRevision === undefined ? change : { ...change, ifRevision }
  }

  cancel({ namespace, timerId, uuid }: TimerKey, ifRevision: number | undefined): Cancel {
    const { wall, ids, metrics } = this.#parts
    metrics.received("cancel")
    const at = wall.now()
    const cancel: Cancel = { kind: "cancel", key: { namespace, timerId, uuid }, cancelId: ids.uuidV7(at), at }
    return ifRevision === undefined ? cancel : { ...cancel, ifRevision }
  }

  #timerFor(command: Omit<CreateCommand, "onExisting">): Timer {
    const { wall, ids } = this.#parts
    const now = wall.now()
    const timerId = command.timerId ?? ids.uuidV7(now)
    const { namespace, executeAt, spec, payload } = command
    const timer: Mutable<Timer> = {
      namespace,
      timerId,
      uuid: keyOf(namespace, timerId).uuid,
      fireId: ids.uuidV7(now),
      revision: now,
      executeAt,
      fireAt: executeAt,
      attempts: 0,
      createdAt: now,
      updatedAt: now,
      correlationId: command.correlationId ?? madeCorrelationId(ids.uuidV7(now)),
      spec,
    }
    if (payload !== undefined) timer.payload = payload
    copyAdded(command, timer)
    return timer
  }
}
