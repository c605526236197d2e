// Arms dead letters again or removes them: by key, by filter, or all of a namespace. One call handles a limited number.
// A caller repeats the call while there is more.
//
// A filter goes through the timers in the order in which they died. A replayed timer that dies again comes after those
// that still wait, so repeated calls reach all of them. A skipped timer stays where it is, and the walk passes it. The
// answer says that there is more only if the call did something, because a call that did nothing would do nothing
// again.
//
// With a filter without an index, a call reads one page with a limited number of rows, and says where the next call
// continues.
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

/** Selects the dead letters of one key, or those that match a filter. An empty filter matches the whole namespace. */
export type DeadSelection = {
  readonly namespace: string
  /** Only count what the call would do. */
  readonly isDryRun: boolean
} & ({ readonly timerId: string } | { readonly filter: ListFilter; readonly cursor?: string })

export interface Replayed extends Progress {
  readonly replayed: number
  /** Dead letters whose key is pending, or which have a later dead letter of the same key in the selection. */
  readonly skipped: number
}

export interface Discarded extends Progress {
  readonly discarded: number
}

interface Progress {
  readonly more: boolean
  /** For a filter without an index: how many rows the call examined, and where to continue if there are more. */
  readonly examined?: number
  readonly next?: string
}

export interface DeadLetterCalls {
  /** `undefined` if the key has no dead letter. If it has several, the latest is replayed. */
  replay(
    selection: DeadSelection,
  ): Effect.Effect<Replayed | undefined, RefusedWrite | StoreError | InvalidCursor>
  /** `undefined` if the key has no dead letter. */
  discard(
    selection: DeadSelection,
  ): Effect.Effect<Discarded | undefined, RefusedWrite | StoreError | InvalidCursor>
}

/** What one dead letter needs. */
export interface DisposalParts {
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: Pick<EngineMetrics, "received">
  /** Passes the item to the owner of its shard, and waits for its answer. */
  readonly write: <Answer extends WriteAnswer>(
    item: Replay | Discard,
  ) => Effect.Effect<Exclude<Answer, Unstorable>, RefusedWrite>
}

export interface DeadLetterParts extends DisposalParts {
  readonly store: Pick<TimerStore["Service"], "list" | "find">
}

/** Replays or removes one dead letter. */
export const makeDisposals = ({ wall, ids, metrics, write }: DisposalParts) => ({
  replayed: (life: FinishedLife) => {
    metrics.received("replay")
    const at = wall.now()
    return write<ReplayAnswer>({ kind: "replay", ...named(life), fireId: ids.uuidV7(at), at })
  },
  discarded: (life: FinishedLife) => {
    metrics.received("discard")
    return write<DiscardAnswer>({ kind: "discard", ...named(life), at: wall.now() })
  },
})

/** One call replays or removes at most this many dead letters. */
const disposedAtOnce = 1_000
/** One call examines at most this many. It may have to skip most of them. */
const seenAtOnce = 20_000
const readsAtOnce = 16

/** The result for one page. */
interface Disposal {
  readonly done: number
  readonly skipped: number
}

type Visit = (letters: ReadonlyArray<FinishedLife>) => Effect.Effect<Disposal, RefusedWrite | StoreError>

export const makeDeadLetters = (parts: DeadLetterParts): DeadLetterCalls => {
  const { store } = parts
  const { replayed, discarded } = makeDisposals(parts)

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
      // By id the earliest life of a key comes first. By time the latest would, so the order is reversed.
      reversed: filter.idPrefix === undefined && filter.timerId === undefined,
      includePayload: false,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const letters = items.flatMap((item) => (item.state === "pending" ? [] : [item.life]))
    return { letters, rows: items.length + unreadable.length, examined, next }
  })

  /** Reads pages until there are no more, or until the limits of a call are reached. */
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

  const isPending = (key: TimerKey) => Effect.map(store.find(key), ({ pending }) => pending !== undefined)

  const replayAll: Visit = (letters) =>
    Effect.map(
      // At once, so that they share commits. The writes of one key stay in order.
      Effect.forEach(letters, replayed, { concurrency: "unbounded" }),
      (answers) => ({
        done: answers.filter(isArmedAgain).length,
        skipped: answers.filter(({ result }) => result === "skipped").length,
      }),
    )

  /** Counts like `replayAll` without changing anything: the first dead letter of a key makes the key pending. */
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
    const isArmed = selection.isDryRun ? !(yield* isPending(latest)) : isArmedAgain(yield* replayed(latest))
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

/** A replay whose timer has already ended also counts as done. */
export const isArmedAgain = ({ result }: ReplayAnswer): boolean =>
  result === "replayed" || result === "alreadyReplayed"
