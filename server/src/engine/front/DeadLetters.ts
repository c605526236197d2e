// Arms dead letters again or removes them: by key, by filter, or all of a namespace, one bounded batch a call. A caller
// repeats the call while there is more.
//
// A filter is walked in the order in which the timers died. What is replayed and dies again stands behind those that
// still wait, so that repeated calls reach all of them. What is skipped stays where it is: the walk steps over it, and
// says that there is more only if it has done something, for a call that did nothing would do nothing again.
//
// With a filter that has no index, a call looks at one page, whose rows are bounded, and says where the next call goes on.
import { Effect } from "effect"
import type { FinishedLife, TimerKey, Uuid } from "../../domain/Timer.ts"
import type {
  Discard,
  DiscardAnswer,
  NamedDead,
  Replay,
  ReplayAnswer,
  Unstorable,
  WriteAnswer,
} from "../../domain/WriteItem.ts"
import type { Ids } from "../../ports/Ids.ts"
import type { InvalidCursor, ListFilter, ListPage, StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { RefusedWrite } from "./RefusedWrite.ts"

/** Which dead letters: those of one key, or those that match; an empty filter matches all of the namespace. */
export type DeadSelection = {
  readonly namespace: string
  /** Only count what the call would do. */
  readonly isDryRun: boolean
} & ({ readonly timerId: string } | { readonly filter: ListFilter; readonly cursor?: string })

export interface Replayed extends Progress {
  readonly replayed: number
  /** Their keys are pending, or have a later dead letter that was named with them. */
  readonly skipped: number
}

export interface Discarded extends Progress {
  readonly discarded: number
}

interface Progress {
  readonly more: boolean
  /** Of a filter without an index: how many rows the call looked at, and where to go on if there are more. */
  readonly examined?: number
  readonly next?: string
}

export interface DeadLetterCalls {
  /** Nothing is answered of a key that has no dead letter. Of one that has several the latest is replayed. */
  replay(
    selection: DeadSelection,
  ): Effect.Effect<Replayed | undefined, RefusedWrite | StoreError | InvalidCursor>
  /** Nothing is answered of a key that has no dead letter. */
  discard(
    selection: DeadSelection,
  ): Effect.Effect<Discarded | undefined, RefusedWrite | StoreError | InvalidCursor>
}

export interface DeadLetterParts {
  readonly store: Pick<TimerStore["Service"], "list" | "find">
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: Pick<EngineMetrics, "received">
  /** Hands the item to the owner of its shard, and waits for its answer. */
  readonly write: <Answer extends WriteAnswer>(
    item: Replay | Discard,
  ) => Effect.Effect<Exclude<Answer, Unstorable>, RefusedWrite>
}

/** How many dead letters one call replays, or removes, at most. */
const disposedAtOnce = 1_000
/** How many one call looks at. It may have to skip most of them. */
const seenAtOnce = 20_000
const readsAtOnce = 16

/** What was done with a page. */
interface Disposal {
  readonly done: number
  readonly skipped: number
}

type Visit = (letters: ReadonlyArray<FinishedLife>) => Effect.Effect<Disposal, RefusedWrite | StoreError>

export const makeDeadLetters = (parts: DeadLetterParts): DeadLetterCalls => {
  const { store, wall, ids, metrics, write } = parts

  const page = Effect.fnUntraced(function* (
    selection: DeadSelection,
    limit: number,
    cursor: string | undefined,
  ) {
    const filter = filterOf(selection)
    const {
      items,
      unreadable = [],
      examined,
      next,
    }: ListPage = yield* store.list({
      ...filter,
      namespace: selection.namespace,
      state: "dead",
      // By id the earliest life of a key comes first anyway, by time the latest would.
      reversed: filter.idPrefix === undefined && filter.timerId === undefined,
      includePayload: false,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const letters = items.flatMap((item) => (item.state === "pending" ? [] : [item.life]))
    return { letters, rows: items.length + unreadable.length, examined, next }
  })

  /** Page after page, until there is no more, or enough was done or looked at. */
  const walk = Effect.fnUntraced(function* (selection: DeadSelection, visit: Visit) {
    let [done, skipped, seen, looked] = [0, 0, 0, 0]
    let cursor = "cursor" in selection ? selection.cursor : undefined
    do {
      const { letters, rows, examined, next } = yield* page(selection, disposedAtOnce - done, cursor)
      const disposal = yield* visit(letters)
      done += disposal.done
      skipped += disposal.skipped
      seen += letters.length
      looked += rows
      cursor = next
      if (examined !== undefined) {
        const more = next !== undefined
        return { done, skipped, seen, progress: { more, examined, ...(more ? { next } : {}) } }
      }
    } while (cursor !== undefined && done < disposedAtOnce && looked < seenAtOnce)
    return { done, skipped, seen, progress: { more: cursor !== undefined && done > 0 } }
  })

  const replayed = (life: FinishedLife) => {
    metrics.received("replay")
    const at = wall.now()
    return write<ReplayAnswer>({ kind: "replay", ...named(life), fireId: ids.uuidV7(at), at })
  }

  const discarded = (life: FinishedLife) => {
    metrics.received("discard")
    return write<DiscardAnswer>({ kind: "discard", ...named(life), at: wall.now() })
  }

  const isPending = (key: TimerKey) => Effect.map(store.find(key), ({ pending }) => pending !== undefined)

  const replayAll: Visit = (letters) =>
    Effect.map(
      // Together, so that they share commits; of one key in order.
      Effect.forEach(letters, replayed, { concurrency: "unbounded" }),
      (answers) => ({
        done: answers.filter(isDone).length,
        skipped: answers.filter(({ result }) => result === "skipped").length,
      }),
    )

  /** As `replayAll` would do it: the first of a key makes it pending. */
  const replayNone = (): Visit => {
    const armed = new Set<Uuid>()
    return Effect.fnUntraced(function* (letters) {
      const pending = yield* Effect.forEach(letters, isPending, { concurrency: readsAtOnce })
      const done = letters.filter(({ uuid }, index) => {
        if (pending[index] === true || armed.has(uuid)) return false
        armed.add(uuid)
        return true
      }).length
      return { done, skipped: letters.length - done }
    })
  }

  const discardAll: Visit = (letters) =>
    Effect.map(Effect.forEach(letters, discarded, { concurrency: "unbounded" }), (answers) => ({
      done: answers.filter(({ result }) => result === "discarded").length,
      skipped: 0,
    }))

  const discardNone: Visit = (letters) => Effect.succeed({ done: letters.length, skipped: 0 })

  const replayLatest = Effect.fnUntraced(function* (selection: DeadSelection) {
    let latest: FinishedLife | undefined
    const { seen } = yield* walk(selection, (letters) => {
      latest = letters.at(-1) ?? latest
      return Effect.succeed({ done: 0, skipped: letters.length })
    })
    if (latest === undefined) return undefined
    const isArmed = selection.isDryRun ? !(yield* isPending(latest)) : isDone(yield* replayed(latest))
    return { replayed: isArmed ? 1 : 0, skipped: isArmed ? seen - 1 : seen, more: false }
  })

  return {
    replay: Effect.fnUntraced(function* (selection) {
      if ("timerId" in selection) return yield* replayLatest(selection)
      const { done, skipped, progress } = yield* walk(
        selection,
        selection.isDryRun ? replayNone() : replayAll,
      )
      return { replayed: done, skipped, ...progress }
    }),
    discard: Effect.fnUntraced(function* (selection) {
      const { done, seen, progress } = yield* walk(selection, selection.isDryRun ? discardNone : discardAll)
      return "timerId" in selection && seen === 0 ? undefined : { discarded: done, ...progress }
    }),
  }
}

const filterOf = (selection: DeadSelection): ListFilter =>
  "timerId" in selection ? { timerId: selection.timerId } : selection.filter

const named = ({ namespace, timerId, uuid, fireId, revision }: FinishedLife): NamedDead => ({
  key: { namespace, timerId, uuid },
  deadFireId: fireId,
  deadRevision: revision,
})

/** A replay whose timer has ended by now was done all the same. */
const isDone = ({ result }: ReplayAnswer): boolean => result === "replayed" || result === "alreadyReplayed"
