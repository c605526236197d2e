// One step of a job on many timers: reads one page of the timers that match, and replays, discards or cancels each of
// them, in the same way as the calls on one namespace do. A step says where the next one begins.
//
// Steps can be repeated. A step that is made a second time, by this node or by another one after a crash, finds the
// timers gone that the first one handled. Two rules keep it from timers that came later. It cancels only timers that
// were created until the beginning of the job. It replays and discards only dead letters that died until then and were
// armed before: a timer that the job itself armed again, and that died again, has a later fireId. The time alone would
// not do, because nodes have different clocks, and a manual clock stands still.
import { Effect } from "effect"
import type { FinishedLife, Timer } from "../../domain/Timer.ts"
import type { CancelAnswer } from "../../domain/WriteItem.ts"
import type {
  InvalidCursor,
  Listed,
  ListFilter,
  ListPage,
  StoreError,
  TimerStore,
} from "../../ports/TimerStore.ts"
import { type DisposalParts, isArmedAgain, makeDisposals } from "./DeadLetters.ts"
import { matchNamespaces, type NamespacesAsked, type TooManyNamespaces } from "./matchNamespaces.ts"
import type { NoOwner, RefusedWrite, TooManyWrites } from "./RefusedWrite.ts"

/** The beginning of a job: an instant, and an id that its first runner made before it did anything. */
export interface BulkBeginning {
  readonly atMs: number
  readonly id: string
}

export interface BulkStep {
  readonly deed: "replay" | "discard" | "cancel"
  readonly namespace: NamespacesAsked
  readonly filter: ListFilter
  readonly beginning: BulkBeginning
  readonly cursor?: string
  /** How many timers the step may handle. */
  readonly limit: number
}

export interface BulkStepDone {
  /** Replayed, discarded or cancelled. */
  readonly done: number
  readonly skipped: number
  /** Only of a job that cancels. */
  readonly inFlight: number
  readonly examined: number
  /** Absent after the last step. */
  readonly next?: string
  /** Some timers could not be handled now. Repeat the step instead of going on. */
  readonly refusal?: NoOwner | TooManyWrites
}

export type BulkStepError = StoreError | InvalidCursor | TooManyNamespaces

export interface BulkStepParts extends DisposalParts {
  readonly store: Pick<TimerStore["Service"], "list" | "namespaces">
  readonly shards: () => number | undefined
  readonly cancelled: (timer: Timer) => Effect.Effect<CancelAnswer, RefusedWrite>
}

type Effected = "done" | "skipped" | "inFlight" | "gone"

export const makeBulkStep = (
  parts: BulkStepParts,
): ((step: BulkStep) => Effect.Effect<BulkStepDone, BulkStepError>) => {
  const { store, shards } = parts
  const handle = handlers(parts)
  return Effect.fnUntraced(function* (step) {
    const { deed, filter, beginning, cursor, limit } = step
    const state = deed === "cancel" ? ("pending" as const) : ("dead" as const)
    const query = { ...(state === "dead" ? diedUntil(filter, beginning) : filter), state }
    const namespace = yield* matchNamespaces(store, { ...query, namespace: step.namespace }, shards())
    const {
      items,
      unreadable = [],
      examined,
      next,
    }: ListPage = yield* store.list({
      ...query,
      namespace,
      // The earliest first, or by id.
      reversed: state === "dead" && filter.idPrefix === undefined,
      includePayload: false,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const meant = items.filter((item) => isMeant(item, beginning))
    const results = yield* Effect.forEach(meant, handle[deed], { concurrency: "unbounded" })
    const count = (effected: Effected) => results.filter((result) => result === effected).length
    const refusal = results.find((result) => typeof result === "object")
    return {
      done: count("done"),
      skipped: count("skipped") + unreadable.length,
      inFlight: count("inFlight"),
      examined: examined ?? items.length + unreadable.length,
      ...(next === undefined ? {} : { next }),
      ...(refusal === undefined ? {} : { refusal }),
    }
  })
}

type Handle = (item: Listed) => Effect.Effect<Effected | NoOwner | TooManyWrites>

const handlers = (parts: BulkStepParts): Readonly<Record<BulkStep["deed"], Handle>> => {
  const { replayed, discarded } = makeDisposals(parts)
  const dead = (effected: (life: FinishedLife) => Effect.Effect<Effected, RefusedWrite>): Handle => {
    return (item) => (item.state === "pending" ? gone : settled(effected(item.life)))
  }
  return {
    replay: dead((life) =>
      Effect.map(replayed(life), (answer) => {
        if (isArmedAgain(answer)) return "done"
        return answer.result === "skipped" ? "skipped" : "gone"
      }),
    ),
    discard: dead((life) =>
      Effect.map(discarded(life), ({ result }) => (result === "discarded" ? "done" : "gone")),
    ),
    cancel: (item) =>
      item.state === "pending" ? settled(Effect.map(parts.cancelled(item.timer), cancelEffect)) : gone,
  }
}

const gone = Effect.succeed("gone" as const)

const cancelEffect = ({ result }: CancelAnswer): Effected => {
  if (result === "cancelled") return "done"
  if (result === "inFlight") return "inFlight"
  return result === "revisionMismatch" ? "skipped" : "gone"
}

/** A timer that can never be written is skipped. The other refusals pass. */
const settled = (
  effected: Effect.Effect<Effected, RefusedWrite>,
): Effect.Effect<Effected | NoOwner | TooManyWrites> =>
  Effect.catch(effected, (refusal) =>
    Effect.succeed(
      refusal._tag === "NoOwner" || refusal._tag === "TooManyWrites" ? refusal : ("skipped" as const),
    ),
  )

/** Timers that died in the millisecond of the beginning belong to the job. */
export const diedUntil = (filter: ListFilter, { atMs }: Pick<BulkBeginning, "atMs">): ListFilter => ({
  ...filter,
  exclusiveUntilMs: Math.min(atMs + 1, filter.exclusiveUntilMs ?? Number.POSITIVE_INFINITY),
})

const isMeant = (item: Listed, { atMs, id }: BulkBeginning): boolean =>
  item.state === "pending" ? item.timer.createdAt <= atMs : item.life.fireId < id
