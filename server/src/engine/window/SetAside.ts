// The unreadable rows that this node has seen: pending timers and finished lives whose texts are damaged. Each is
// logged once and counted. They do not fire, and the sweep does not read them again and again. Once a minute some of
// them are read again. If a row was repaired or removed, it is forgotten here. A repaired timer that is due then fires.
import { Effect } from "effect"
import { type FinishedState, isReadable, type Spec, type TimerKey, type Uuid } from "../../domain/Timer.ts"
import type { Listed, ListPage, StoreError, TimerStore } from "../../ports/TimerStore.ts"

/** Rows beyond this are neither counted nor logged, and the sweep reads them each time. */
const rememberedMost = 10_000
/** How many rows one round checks again. */
const lookedAtAgain = 100
/** How many lives of a key are searched for the damaged one. */
const livesLookedThrough = 1_000

interface Row extends TimerKey {
  readonly fireId: string
  readonly spec: Spec
}

interface DamagedRow {
  readonly key: TimerKey
  readonly fireId: string
  readonly state: "pending" | FinishedState
}

type Store = TimerStore["Service"]

export class SetAside {
  /**
   * By fireId, which belongs to a pending arming or to a life, never to both. The row that was checked longest ago
   * comes first.
   */
  readonly #rows = new Map<string, DamagedRow>()
  /** The keys of the pending ones, with their fireIds. */
  readonly #pending = new Map<Uuid, string>()
  readonly #log: (effect: Effect.Effect<void>) => void

  constructor(log: (effect: Effect.Effect<void>) => void) {
    this.#log = log
  }

  get counts(): { readonly timers: number; readonly lives: number } {
    return { timers: this.#pending.size, lives: this.#rows.size - this.#pending.size }
  }

  /** Whether the pending row of the key is known to be unreadable. */
  has({ uuid, fireId }: Pick<Row, "uuid" | "fireId">): boolean {
    return this.#pending.get(uuid) === fireId
  }

  note({ namespace, timerId, uuid, fireId, spec }: Row, state: DamagedRow["state"]): void {
    if (spec.unreadable === undefined || this.#rows.has(fireId) || this.#rows.size === rememberedMost) return
    this.#remember({ key: { namespace, timerId, uuid }, fireId, state })
    const what = state === "pending" ? "a timer cannot be read and does not fire" : "a life cannot be read"
    this.#log(
      Effect.logError(`${what}: ${spec.unreadable}. It is set aside: run punctual doctor for details`).pipe(
        Effect.annotateLogs({ namespace, timerId, fireId, state }),
      ),
    )
  }

  /** Wraps the store so that every unreadable row in its reads is noted. */
  watch(store: Store): Store {
    return {
      ...store,
      due: (query) =>
        Effect.tap(store.due(query), ({ timers }) =>
          Effect.sync(() => {
            for (const row of timers) if (!isReadable(row)) this.note(row, "pending")
          }),
        ),
      find: (key, life) =>
        Effect.tap(store.find(key, life), ({ pending, last, named }) =>
          Effect.sync(() => {
            if (pending !== undefined) this.note(pending, "pending")
            if (last !== undefined) this.note(last, last.state)
            if (named !== undefined) this.note(named, named.state)
          }),
        ),
      list: (query) => Effect.tap(store.list(query), (page) => Effect.sync(() => this.#noteListed(page))),
    }
  }

  #noteListed({ unreadable = [] }: ListPage): void {
    for (const listed of unreadable) this.note(rowOf(listed), listed.state)
  }

  /** Checks some of the rows again, and forgets those that are gone or readable. */
  lookAgain(store: Pick<Store, "find" | "list">): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        [...this.#rows.values()].slice(0, lookedAtAgain),
        (row) =>
          Effect.map(isStillDamaged(store, row), (isDamaged) => {
            this.#forget(row)
            if (isDamaged) this.#remember(row)
          }),
        { discard: true },
      ),
    ).pipe(
      // The next round tries again.
      Effect.catch((error) => Effect.logWarning(`rows that were set aside were not read: ${error.message}`)),
    )
  }

  #remember(row: DamagedRow): void {
    this.#rows.set(row.fireId, row)
    if (row.state === "pending") this.#pending.set(row.key.uuid, row.fireId)
  }

  #forget({ key, fireId }: DamagedRow): void {
    this.#rows.delete(fireId)
    if (this.#pending.get(key.uuid) === fireId) this.#pending.delete(key.uuid)
  }
}

const rowOf = (listed: Listed): Row => (listed.state === "pending" ? listed.timer : listed.life)

const isStillDamaged = (
  store: Pick<Store, "find" | "list">,
  { key, fireId, state }: DamagedRow,
): Effect.Effect<boolean, StoreError> => {
  if (state === "pending") {
    return Effect.map(store.find(key), ({ pending }) => pending?.fireId === fireId && !isReadable(pending))
  }
  const lives = store.list({
    namespace: key.namespace,
    timerId: key.timerId,
    state,
    reversed: false,
    includePayload: false,
    limit: livesLookedThrough,
  })
  return lives.pipe(
    Effect.map(({ unreadable = [] }) => unreadable.some((listed) => rowOf(listed).fireId === fireId)),
    // The query has no cursor.
    Effect.catchTag("InvalidCursor", (error) => Effect.die(error)),
  )
}
