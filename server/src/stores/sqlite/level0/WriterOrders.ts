// The layers of the writer, as maps: where the timers are that were moved since the last merge. The writer only asks for
// keys, and a merge sorts the rest.
import type { Database, Statement } from "bun:sqlite"
import type { TimerKey } from "../../../domain/Timer.ts"
import { JournalFollower, type JournalState, type LayerNumber, otherOf } from "./JournalFollower.ts"
import { type Move, type Place, textOfMoves } from "./Move.ts"
import { Runs } from "./Runs.ts"

/** What all moves of a row together come to. */
export interface MovedRow {
  readonly id: number
  readonly shard: number
  readonly key: TimerKey
  /** The place that levels below may have an entry for. Absent if the row is new in this layer. */
  readonly from: Place | undefined
  readonly to: Place | undefined
}

class WriterLayer {
  readonly rows = new Map<number, MovedRow>()
  /** The row of each moved key, or null if it has none. */
  readonly keys = new Map<string, number | null>()
  /** The moves that the layer has taken, and about how much memory they need. Both are limited. */
  moves = 0
  bytes = 0

  clear(): void {
    this.rows.clear()
    this.keys.clear()
    this.moves = 0
    this.bytes = 0
  }
}

/** What a rollback sets again: a map, a key, and its value before. */
type Undo = () => void

export class WriterOrders {
  readonly database: Database
  readonly journal: JournalFollower
  readonly runs: Runs
  readonly #layers = [new WriterLayer(), new WriterLayer()] as const
  readonly #append: Statement
  readonly #highestId: Statement
  readonly #mergedTimers: Statement
  #nextId: number | undefined
  #made: Array<Move> = []
  #undo: Array<Undo> = []
  #before: JournalState
  #totalMoves = 0

  constructor(database: Database) {
    this.database = database
    this.journal = new JournalFollower(database, {
      apply: (layer, move) => this.#apply(layer, move),
      clear: (layer) => this.#layers[layer].clear(),
    })
    this.runs = new Runs(database)
    this.#before = this.journal.state
    this.#append = database.prepare("INSERT INTO main.journal (seq, entries) VALUES (?1, ?2)")
    this.#highestId = database.prepare("SELECT coalesce(max(id), 0) AS id FROM main.timers")
    this.#mergedTimers = database.prepare("SELECT merged_timers AS timers FROM main.merging WHERE one = 1")
  }

  /** The id of the pending row of a key, null if it has none, or undefined if only the tables know. */
  movedIdOf({ uuid }: TimerKey): number | null | undefined {
    const upper = this.#layers[this.journal.upper].keys.get(uuid)
    return upper === undefined ? this.#layers[otherOf(this.journal.upper)].keys.get(uuid) : upper
  }

  /** How many moves the upper layer has taken. */
  get moves(): number {
    return this.#layers[this.journal.upper].moves
  }

  /** How many timers of the upper layer are new there. */
  get created(): number {
    let created = 0
    for (const { from } of this.#layers[this.journal.upper].rows.values()) if (from === undefined) created++
    return created
  }

  /** How many timers are in the orders and in the runs. */
  get mergedTimers(): number {
    return Number((this.#mergedTimers.get() as { readonly timers: number }).timers)
  }

  /** About how much memory the moves of the upper layer need. */
  get bytes(): number {
    return this.#layers[this.journal.upper].bytes
  }

  /** How many moves this connection has made or read, ever. */
  get totalMoves(): number {
    return this.#totalMoves
  }

  get frozenRows(): Iterable<MovedRow> {
    return this.#layers[otherOf(this.journal.upper)].rows.values()
  }

  /**
   * Ids increase, and an id that the journal names is not given again. Otherwise a merge could remove the entry of
   * another timer.
   */
  newId(): number {
    this.#nextId ??= 1 + Math.max(Number((this.#highestId.get() as { id: number }).id), this.#highestMoved())
    return this.#nextId++
  }

  /** Runs a transaction. If it fails, the layers are as before. */
  keeping<A>(transaction: () => A): A {
    this.#before = this.journal.state
    try {
      return transaction()
    } catch (error) {
      this.undoTo({ made: 0, undo: 0 })
      this.#nextId = undefined
      this.journal.state = this.#before
      throw error
    } finally {
      this.#made = []
      this.#undo = []
    }
  }

  /** What others have committed stays, whatever becomes of this transaction. */
  follow(): boolean {
    const hasFound = this.journal.follow()
    this.runs.follow(this.journal.state)
    if (hasFound) this.#nextId = undefined
    this.#before = this.journal.state
    this.#undo = []
    return hasFound
  }

  /** The frozen layer is in the tables. Its run, if it has one, can be asked at once. */
  leaveFrozen(): void {
    this.journal.leaveFrozen()
    this.runs.follow(this.journal.state)
  }

  /** The runs up to this one are in the orders. */
  leaveRuns(lastMoved: number): void {
    this.journal.leaveRuns(lastMoved)
    this.runs.follow(this.journal.state)
  }

  move(move: Move): void {
    this.#apply(this.journal.upper, move)
    this.#made.push(move)
  }

  /** For a savepoint. */
  get mark(): { readonly made: number; readonly undo: number } {
    return { made: this.#made.length, undo: this.#undo.length }
  }

  undoTo(mark: { readonly made: number; readonly undo: number }): void {
    this.#made.length = mark.made
    while (this.#undo.length > mark.undo) this.#undo.pop()?.()
  }

  /** Writes the moves of the transaction into the journal. */
  writeJournal(): void {
    if (this.#made.length === 0) return
    const seq = this.journal.nextSeq
    this.#append.run(seq, textOfMoves(this.#made))
    this.journal.appended(seq)
  }

  #apply(layer: LayerNumber, { id, shard, key, from, to }: Move): void {
    const into = this.#layers[layer]
    const { rows, keys } = into
    const [rowBefore, keyBefore] = [rows.get(id), keys.get(key.uuid)]
    const bytes = bytesOf(key)
    this.#undo.push(() => {
      into.moves--
      into.bytes -= bytes
      if (rowBefore === undefined) rows.delete(id)
      else rows.set(id, rowBefore)
      if (keyBefore === undefined) keys.delete(key.uuid)
      else keys.set(key.uuid, keyBefore)
    })
    into.moves++
    into.bytes += bytes
    this.#totalMoves++
    const first = rowBefore === undefined ? from : rowBefore.from
    // A timer that was created and has ended in this layer leaves nothing.
    if (first === undefined && to === undefined) rows.delete(id)
    else rows.set(id, { id, shard, key, from: first, to })
    if (to !== undefined) keys.set(key.uuid, id)
    else if (keyBefore === undefined || keyBefore === id) keys.set(key.uuid, null)
  }

  #highestMoved(): number {
    let highest = 0
    for (const { rows } of this.#layers) for (const id of rows.keys()) if (id > highest) highest = id
    return highest
  }
}

/** The objects and the entries of the maps. */
const bytesOfMove = 300

/** Most characters need one byte, and some need two. */
const bytesOf = ({ namespace, timerId, uuid }: TimerKey): number =>
  bytesOfMove + 2 * (namespace.length + timerId.length) + uuid.length
