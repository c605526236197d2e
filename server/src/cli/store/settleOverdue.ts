// Settles timers that are overdue after a restore from a backup. The lost store may have delivered some of them, and
// only the operator can decide whether to fire them again. They fire, become dead letters, or are cancelled. The
// command works in batches under its own leases. Settled timers are not overdue any more, so a run can be repeated.
import { formatInstant } from "@punctual/api/Instant"
import { Clock, Effect } from "effect"
import { beginning, type Cursor } from "../../domain/DueOrder.ts"
import { type ServicePause, withPause } from "../../domain/NamespaceSettings.ts"
import { isReadable, type Timer } from "../../domain/Timer.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import { type SettingsRecords, serviceRecord } from "../../engine/namespaces/SettingsRecords.ts"
import type { HeldStore, HoldTarget } from "../../maintenance/HeldStore.ts"
import type { Ids } from "../../ports/Ids.ts"
import type { DueQuery, StoreError } from "../../ports/TimerStore.ts"
import { told } from "../frame/asCommandFailed.ts"
import { CommandFailed, Output } from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import { type HoldFailure, holdForCommand, tellHoldFailure } from "./storeHold.ts"

export interface SettleTarget extends HoldTarget {
  readonly namespaces: SettingsRecords
  readonly ids: Ids["Service"]
}

export const overdueChoices = ["fire", "dead", "discard"] as const

export type OverdueChoice = (typeof overdueChoices)[number]

export interface Settled {
  /** The number of timers that were due before the instant. */
  readonly due: number
  /** Whether the pause of the restore was lifted, or another pause stays. */
  readonly pause: "lifted" | "none" | "kept"
}

/** The reason of these dead letters. */
export const deadReason = "dueBeforeRestore"

const pageItems = 200
const progressEvery = 10_000

export const pauseOf = (namespaces: SettingsRecords) =>
  Effect.map(told(namespaces.get(serviceRecord)), ({ settings }) => settings.pause)

/** Settles all timers that were due before `beforeMs`, then lifts the pause that the restore set. */
export const settleOverdue = (target: SettleTarget, beforeMs: number, choice: OverdueChoice) =>
  Effect.gen(function* () {
    const held = yield* holdForCommand(target)
    const run = new SettleRun(target, held, beforeMs)
    for (let shard = 0; shard < held.shards; shard++) {
      yield* choice === "fire" ? run.count(shard) : run.settle(shard, choice)
    }
    // The flush fails if a service has taken the store over: then the command must not lift the pause.
    yield* held.flush
    if (run.unreadable > 0) {
      const { remark } = yield* Output
      yield* remark(
        `${countOf(run.unreadable, "timer")} cannot be read and ${run.unreadable === 1 ? "stays as it is" : "stay as they are"}: see punctual doctor.`,
      )
    }
    return { due: run.due - run.unreadable, pause: yield* liftPause(target.namespaces) } satisfies Settled
  }).pipe((run) => tellHoldFailure("command", run), Effect.scoped)

class SettleRun {
  readonly #target: SettleTarget
  readonly #held: HeldStore
  readonly #beforeMs: number
  due = 0
  /** Timers that stay as they are, because they cannot be read. */
  unreadable = 0

  constructor(target: SettleTarget, held: HeldStore, beforeMs: number) {
    this.#target = target
    this.#held = held
    this.#beforeMs = beforeMs
  }

  /** The timers fire by themselves when a service starts, so this only counts them. */
  count(shard: number) {
    return this.#eachPage(shard, this.#target.store.dueHeads, () => Effect.void)
  }

  settle(shard: number, choice: "dead" | "discard") {
    const read = (query: DueQuery) => Effect.map(this.#target.store.due(query), ({ timers }) => timers)
    return this.#eachPage(shard, read, (timers) =>
      Effect.gen({ self: this }, function* () {
        const nowMs = yield* Clock.currentTimeMillis
        let odd: WriteAnswer | undefined
        for (const timer of timers) {
          // A timer that cannot be read does not fire either, so it must not block the others.
          if (!isReadable(timer)) {
            this.unreadable++
            continue
          }
          yield* this.#held.write(this.#itemFor(timer, choice, nowMs), (answer) => {
            if (answer.result !== "settled" && answer.result !== "cancelled") odd = answer
          })
        }
        yield* this.#held.flush
        if (odd !== undefined) return yield* notSettled(odd)
      }),
    )
  }

  #eachPage<Row extends Cursor>(
    shard: number,
    read: (query: DueQuery) => Effect.Effect<ReadonlyArray<Row>, StoreError>,
    use: (rows: ReadonlyArray<Row>) => Effect.Effect<void, CommandFailed | HoldFailure>,
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

  #itemFor(timer: Timer, choice: "dead" | "discard", at: number): WriteItem {
    const { namespace, timerId, uuid, revision, attempts } = timer
    if (choice === "discard") {
      const key = { namespace, timerId, uuid }
      return { kind: "cancel", key, cancelId: this.#target.ids.uuidV7(at), at, ifRevision: revision }
    }
    const then = { to: "dead", reason: deadReason } as const
    return { kind: "outcome", timer, attempt: attempts + 1, at, then }
  }

  #progress(items: number) {
    const before = this.due
    this.due += items
    return Math.floor(this.due / progressEvery) > Math.floor(before / progressEvery)
      ? Effect.flatMap(Output, ({ remark }) => remark(`${countOf(this.due, "timer")} …`))
      : Effect.void
  }
}

const notSettled = ({ result }: WriteAnswer) =>
  new CommandFailed({
    message: `a timer could not be settled (${result}): stop every service on the store, and run the command again.`,
  })

/** Lifts only the pause of the restore. A pause that an operator set stays. */
const liftPause = (namespaces: SettingsRecords) =>
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
  message: "another process has just changed the settings of the store: run the command again.",
})

/**
 * Pauses the store as a restored one. The pause begins at the time of the backup, so that timers do not expire by the
 * time that has passed since then: no service could have fired them.
 */
export const pauseRestored = (namespaces: SettingsRecords, takenAtMs: number, nowMs: number) =>
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
