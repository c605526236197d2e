// What becomes of timers that fell due while nothing was fired, once a store was restored from a backup: some of them
// were delivered by the store that was lost, and only whoever runs the service can say whether once more is better than
// not at all. They fire, become dead letters, or are cancelled. In batches, under leases of its own, one page after the
// other: what is done is no longer there to be found, so that a run that broke off is simply run again.
import { formatInstant } from "@punctual/api/Instant"
import { Clock, Effect, Schedule } from "effect"
import { beginning, type Cursor } from "../domain/DueOrder.ts"
import { type ServicePause, withPause } from "../domain/NamespaceSettings.ts"
import type { Timer } from "../domain/Timer.ts"
import type { WriteItem } from "../domain/WriteItem.ts"
import type { Ids } from "../ports/Ids.ts"
import { type NamespaceStore, serviceRecord } from "../ports/NamespaceStore.ts"
import type { ShardLeases } from "../ports/ShardLeases.ts"
import type { BatchAnswer, DueQuery, ShardBatch, StoreError, TimerStore } from "../ports/TimerStore.ts"
import { CommandFailed, Output } from "./CommandRuntime.ts"
import { countShown } from "./figures.ts"
import { holdShards, told } from "./ShardHold.ts"

export interface SettleTarget {
  readonly store: TimerStore["Service"]
  readonly leases: ShardLeases["Service"]
  readonly namespaces: NamespaceStore["Service"]
  readonly ids: Ids["Service"]
  /** What the command is called where others see who holds the store. */
  readonly node: string
}

export const fates = ["fire", "dead", "discard"] as const

export type Fate = (typeof fates)[number]

export interface Settled {
  /** Timers that were due before the instant: as many as were left, or are dead or cancelled now. */
  readonly due: number
  /** The pause that was lifted, or that another reason keeps. */
  readonly pause: "lifted" | "none" | "kept"
}

/** Why these timers are dead; they can be replayed. */
export const deadReason = "dueBeforeRestore"

const pageItems = 200
const progressEvery = 10_000
/** A database that restarts is back within this. */
const retries = 10
const retryEveryMs = 1_000

export const pauseOf = (namespaces: NamespaceStore["Service"]) =>
  Effect.map(told(namespaces.get(serviceRecord)), ({ settings }) => settings.pause)

/** Settles all that was due before `beforeMs`, then lifts the pause that the restore has left. */
export const settleOverdue = (target: SettleTarget, beforeMs: number, fate: Fate) =>
  Effect.gen(function* () {
    const epochs = yield* holdShards(target.leases, target.node)
    const run = new SettleRun(target, beforeMs)
    for (const [shard, epoch] of epochs.entries()) {
      yield* fate === "fire" ? run.count(shard) : run.settle(shard, epoch, fate)
    }
    return { due: run.due, pause: yield* liftPause(target.namespaces) } satisfies Settled
  }).pipe(Effect.scoped)

class SettleRun {
  readonly #target: SettleTarget
  readonly #beforeMs: number
  due = 0

  constructor(target: SettleTarget, beforeMs: number) {
    this.#target = target
    this.#beforeMs = beforeMs
  }

  /** They fire when a service starts: nothing is to be done but to count them. */
  count(shard: number) {
    return this.#eachPage(shard, this.#target.store.dueHeads, () => Effect.void)
  }

  settle(shard: number, epoch: number, fate: "dead" | "discard") {
    let number = 0
    return this.#eachPage(shard, this.#target.store.due, (timers) =>
      Effect.gen({ self: this }, function* () {
        const nowMs = yield* Clock.currentTimeMillis
        const items = timers.map((timer) => this.#itemFor(timer, fate, nowMs))
        number = yield* this.#write({ shard, epoch, items }, number)
      }),
    )
  }

  #eachPage<Row extends Cursor>(
    shard: number,
    read: (query: DueQuery) => Effect.Effect<ReadonlyArray<Row>, StoreError>,
    use: (rows: ReadonlyArray<Row>) => Effect.Effect<void, CommandFailed>,
  ) {
    return Effect.gen({ self: this }, function* () {
      let exclusiveAfter = beginning
      for (;;) {
        const page = yield* told(
          read({ shard, exclusiveAfter, inclusiveUntilMs: this.#beforeMs - 1, limit: pageItems }),
        )
        const last = page.at(-1)
        if (last === undefined) return
        yield* use(page)
        yield* this.#progress(page.length)
        exclusiveAfter = { fireAt: last.fireAt, fireId: last.fireId }
      }
    })
  }

  #itemFor({ namespace, timerId, uuid, ...timer }: Timer, fate: "dead" | "discard", at: number): WriteItem {
    const key = { namespace, timerId, uuid }
    if (fate === "discard") {
      return { kind: "cancel", key, cancelId: this.#target.ids.uuidV7(at), at, ifRevision: timer.revision }
    }
    const { fireId, attempts } = timer
    const then = { to: "dead", reason: deadReason } as const
    return { kind: "outcome", key, fireId, attempt: attempts + 1, at, then }
  }

  /** Answers the number of the last call: each is a call of its own, a repeat too. */
  #write(batch: Omit<ShardBatch, "number">, before: number) {
    return Effect.gen({ self: this }, function* () {
      let number = before
      const answers = yield* Effect.suspend(() => {
        number++
        return this.#target.store.write([{ ...batch, number }])
      }).pipe(
        Effect.retry({
          times: retries,
          schedule: Schedule.spaced(retryEveryMs),
          while: ({ isFatal }) => !isFatal,
        }),
        told,
      )
      const why = whyUndone(answers[0])
      if (why !== undefined) return yield* new CommandFailed({ message: why })
      return number
    })
  }

  #progress(items: number) {
    const before = this.due
    this.due += items
    return Math.floor(this.due / progressEvery) > Math.floor(before / progressEvery)
      ? Effect.flatMap(Output, ({ remark }) => remark(`${countShown(this.due)} timers …`))
      : Effect.void
  }
}

const whyUndone = (answer: BatchAnswer | undefined): string | undefined => {
  if (answer?.result !== "written") {
    return "a service has taken the store over: stop every service on it, and run the command again."
  }
  const odd = answer.answers.find(({ result }) => result !== "settled" && result !== "cancelled")
  return odd === undefined
    ? undefined
    : `a timer could not be settled (${odd.result}): stop every service on the store, and run the command again.`
}

/** A pause that an operator asked for stays. */
const liftPause = (namespaces: NamespaceStore["Service"]) =>
  Effect.gen(function* () {
    const record = yield* told(namespaces.get(serviceRecord))
    const { pause, ...settings } = record.settings
    if (pause === undefined) return "none"
    if (pause.kind !== "restored") return "kept"
    const nowMs = yield* Clock.currentTimeMillis
    const pastPauses = withPause(settings.pastPauses, pause.sinceMs, nowMs)
    const put = yield* told(
      namespaces.put({ ...record, settings: { ...settings, pastPauses }, updatedAt: nowMs }),
    )
    if (put === undefined) return yield* writtenByAnother
    return "lifted"
  })

const writtenByAnother = new CommandFailed({
  message: "another has just written the store's settings: run the command again.",
})

/**
 * Pauses the store as one that was restored. What fell due since the backup was made does not expire by the time that
 * has passed since: nobody could have fired it.
 */
export const pauseRestored = (namespaces: NamespaceStore["Service"], takenAtMs: number, nowMs: number) =>
  Effect.gen(function* () {
    const record = yield* told(namespaces.get(serviceRecord))
    const { pause: earlier, ...settings } = record.settings
    const pause: ServicePause = {
      kind: "restored",
      sinceMs: Math.min(takenAtMs, earlier?.sinceMs ?? takenAtMs),
      reason: `restored at ${formatInstant(nowMs)} from a backup of ${formatInstant(takenAtMs)}`,
    }
    const put = yield* told(namespaces.put({ ...record, settings: { ...settings, pause }, updatedAt: nowMs }))
    if (put === undefined) return yield* writtenByAnother
    return pause
  })
