// One ordered queue of writes a shard, and shared commits over all of them: while one commit is on its
// way to the disk, the next gathers, so that many callers pay for one.
//
// At most one commit of a shard is under way, and its answers reach the shard's window, then the
// callers, in queue order. A commit whose result is unknown is repeated as it was, ids included, until
// its result is known or the shard is given up: the items are made so that this is harmless. A call that was given up
// and is still on its way does nothing any more once its repeat has arrived: the store sees to that.
import { Clock, Effect, Fiber, Latch, type Scope } from "effect"
import type { Uuid } from "../../domain/Timer.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import { itemBytes, keyOfItem } from "../../domain/WriteItem.ts"
import type { BatchAnswer, ShardBatch, StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { Guard } from "../Guard.ts"

/** The shard was given up before there was an answer: surely nothing was written, or nobody knows. */
export type Unanswered = "notWritten" | "unknown"

export interface QueuedWrite {
  readonly item: WriteItem
  /** Called once: with the store's answer, or with why there is none. */
  readonly onAnswer: (answer: WriteAnswer | Unanswered) => void
}

/** The queue of one owned shard. */
export interface Lane {
  readonly shard: number
  readonly epoch: number
  /** Sees every answer before its caller does. */
  readonly onAnswer: (item: WriteItem, answer: WriteAnswer) => void
  /** Another owner has claimed the shard. */
  readonly onOwnershipLost: () => void
}

/** With its size, which is asked for more than once. */
interface WeighedWrite extends QueuedWrite {
  readonly bytes: number
}

interface OpenLane {
  readonly lane: Lane
  queued: Array<WeighedWrite>
  /** Its parts of commits that are under way, or whose answers have come and are not handed on yet. */
  readonly unanswered: Set<Part>
  /** The committer that has unanswered parts of it. Others leave it alone, so that answers keep their order. */
  heldBy: number | undefined
  isOpen: boolean
  /** Takes no more; what it has is still written. */
  takesNoMore: boolean
}

/** What one lane has in a commit. */
interface Part {
  readonly open: OpenLane
  readonly writes: ReadonlyArray<WeighedWrite>
  /** A call of it has set out that is not known to have done nothing. */
  mayBeDone: boolean
}

interface Answered {
  readonly parts: ReadonlyArray<Part>
  readonly answers: ReadonlyArray<BatchAnswer | undefined>
}

/** What the queue needs of a store. */
export type WrittenStore = Pick<TimerStore["Service"], "limits" | "write">

export interface WriteQueueLimits {
  /** Past these, callers are told to come back later; outcomes are always taken (in flight bounds them). */
  readonly queuedItems: number
  readonly queuedBytes: number
}

const firstRepeatDelayMs = 50
const longestRepeatDelayMs = 2_000
/** A key may have thousands of lives to restore. Stores take them one after the other within a call, which must end soon. */
const restoresOfKeyAtOnce = 16

export class WriteQueue {
  readonly #lanes = new Map<number, OpenLane>()
  readonly #work = Latch.makeUnsafe(false)
  readonly #idle = Latch.makeUnsafe(true)
  readonly #room = Latch.makeUnsafe(true)
  readonly #store: WrittenStore
  readonly #limits: WriteQueueLimits
  readonly #metrics: EngineMetrics
  #queuedItems = 0
  #queuedBytes = 0
  #turn = 0
  #progressAtNanos: bigint

  private constructor(
    store: WrittenStore,
    limits: WriteQueueLimits,
    metrics: EngineMetrics,
    nowNanos: bigint,
  ) {
    this.#store = store
    this.#limits = limits
    this.#metrics = metrics
    this.#progressAtNanos = nowNanos
  }

  static make(
    store: WrittenStore,
    limits: WriteQueueLimits,
    metrics: EngineMetrics,
    guard: Guard,
  ): Effect.Effect<WriteQueue, never, Scope.Scope> {
    return Effect.gen(function* () {
      const clock = yield* Clock.clockWith(Effect.succeed)
      const queue = new WriteQueue(store, limits, metrics, clock.monotonicTimeNanosUnsafe())
      for (let committer = 0; committer < store.limits.concurrentWrites; committer++) {
        yield* Effect.forkScoped(guard("committing", queue.#commitForever(committer, clock)))
      }
      return queue
    })
  }

  open(lane: Lane): void {
    this.#lanes.set(lane.shard, {
      lane,
      queued: [],
      unanswered: new Set(),
      heldBy: undefined,
      isOpen: true,
      takesNoMore: false,
    })
  }

  /** The shard is about to be given up: nothing more is taken, and what was taken is still written. */
  stopTaking({ shard, epoch }: Pick<Lane, "shard" | "epoch">): void {
    const open = this.#lanes.get(shard)
    if (open?.lane.epoch === epoch) open.takesNoMore = true
  }

  takesNoMore({ shard, epoch }: Pick<Lane, "shard" | "epoch">): boolean {
    const open = this.#lanes.get(shard)
    return open?.lane.epoch === epoch && open.takesNoMore
  }

  /** Whether the shard takes writes under this epoch. */
  takes({ shard, epoch }: Pick<Lane, "shard" | "epoch">): boolean {
    const open = this.#lanes.get(shard)
    return open?.lane.epoch === epoch && !open.takesNoMore
  }

  /** Whether everything the shard was given under this epoch has been answered. */
  isFlushed({ shard, epoch }: Pick<Lane, "shard" | "epoch">): boolean {
    const open = this.#lanes.get(shard)
    return open?.lane.epoch !== epoch || (open.queued.length === 0 && open.unanswered.size === 0)
  }

  /** Gives a shard up: whatever has no answer yet gets none. What never set out was surely not written. */
  close(shard: number): void {
    const open = this.#lanes.get(shard)
    if (open === undefined) return
    this.#lanes.delete(shard)
    open.isOpen = false
    const { queued } = open
    open.queued = []
    for (const { writes, mayBeDone } of open.unanswered) {
      for (const write of writes) this.#leave(write, mayBeDone ? "unknown" : "notWritten")
    }
    for (const write of queued) this.#leave(write, "notWritten")
    this.#noteRoom()
  }

  /** False if the shard is not open under this epoch; nothing was queued then. Whether it is full, callers ask. */
  push({ shard, epoch }: Pick<Lane, "shard" | "epoch">, { item, onAnswer }: QueuedWrite): boolean {
    const open = this.#lanes.get(shard)
    if (open?.lane.epoch !== epoch || open.takesNoMore) return false
    const bytes = itemBytes(item)
    open.queued.push({ item, onAnswer, bytes })
    this.#queuedItems++
    this.#queuedBytes += bytes
    if (this.isFull) this.#room.closeUnsafe()
    this.#idle.closeUnsafe()
    this.#work.openUnsafe()
    return true
  }

  get isFull(): boolean {
    return this.#queuedItems >= this.#limits.queuedItems || this.#queuedBytes >= this.#limits.queuedBytes
  }

  /** Resolves when the queue is not full: for those who have time to wait. Others are told to come back later. */
  get awaitRoom(): Effect.Effect<void> {
    return this.#room.await
  }

  /** Since when there has been work and no answer, in monotonic nanoseconds; nothing while all is well. */
  get stuckSinceNanos(): bigint | undefined {
    return this.#queuedItems === 0 ? undefined : this.#progressAtNanos
  }

  /** Resolves when every queued write has been answered. */
  get awaitIdle(): Effect.Effect<void> {
    return this.#idle.await
  }

  /**
   * As soon as one commit is answered the next sets out, with all that was queued meanwhile; only then are
   * the answers handed on, so that the store works while this thread does.
   */
  #commitForever(committer: number, clock: Clock.Clock): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      let answered: Answered | undefined
      for (;;) {
        const parts = self.#gather(committer)
        if (parts.length > 0) {
          const commit = yield* Effect.forkChild(self.#writeUntilKnown(parts), { startImmediately: true })
          if (answered !== undefined) self.#answer(answered)
          const answers = yield* Fiber.join(commit)
          answered = { parts, answers }
        } else if (answered !== undefined) {
          self.#answer(answered)
          answered = undefined
        } else {
          self.#work.closeUnsafe()
          yield* self.#work.await
          // In a turn of its own, not inside whoever pushed: what is pushed in one turn shares a commit.
          yield* Effect.yieldNow
        }
        self.#progressAtNanos = clock.monotonicTimeNanosUnsafe()
      }
    })
  }

  /**
   * The next commit, up to what the store takes at once. If more is queued than that, it takes the same share of each
   * lane, oldest writes first, and leaves lanes to the committers that are free: so a caller's writes, which are spread
   * over all lanes, are answered before those of later callers, and the next work comes in while others are committed.
   */
  #gather(committer: number): ReadonlyArray<Part> {
    const { batchItems, batchBytes } = this.#store.limits
    const { lanes, fitsInOne } = this.#lanesFor(committer)
    const gathered: Array<Part> = []
    let items = 0
    let bytes = 0
    for (const [index, lane] of lanes.entries()) {
      if (items >= batchItems || bytes >= batchBytes) break
      const room = batchItems - items
      const share = fitsInOne ? room : Math.ceil(room / (lanes.length - index))
      const writes = takeFrom(lane, share, batchBytes - bytes)
      if (writes.length === 0) {
        // The first item of a commit goes alone if it must: a store answers `unstorable` if it is too large.
        const first = items === 0 ? lane.queued.shift() : undefined
        if (first === undefined) break
        writes.push(first)
      }
      for (const write of writes) bytes += write.bytes
      const part: Part = { open: lane, writes, mayBeDone: false }
      lane.heldBy = committer
      lane.unanswered.add(part)
      items += writes.length
      gathered.push(part)
    }
    if (items > 0) this.#metrics.committed(items)
    return gathered
  }

  /** Lanes with work that are free, or this committer's own, beginning with another one each time. */
  #lanesFor(committer: number): {
    readonly lanes: ReadonlyArray<OpenLane>
    readonly fitsInOne: boolean
  } {
    const { batchItems, concurrentWrites, shardsTogether } = this.#store.limits
    const open = [...this.#lanes.values()]
    const lanes: Array<OpenLane> = []
    const busy = new Set<number>()
    let queued = 0
    for (let index = 0; index < open.length; index++) {
      const lane = open[(this.#turn + index) % open.length]
      if (lane === undefined) continue
      if (lane.heldBy !== undefined && lane.heldBy !== committer) busy.add(lane.heldBy)
      else if (lane.queued.length > 0) {
        lanes.push(lane)
        queued += lane.queued.length
      }
    }
    this.#turn = open.length === 0 ? 0 : (this.#turn + 1) % open.length
    const free = Math.max(1, concurrentWrites - busy.size)
    const fitsInOne = queued <= batchItems
    const mine = fitsInOne ? lanes.length : Math.ceil(lanes.length / free)
    return { lanes: lanes.slice(0, Math.min(mine, shardsTogether)), fitsInOne }
  }

  #writeUntilKnown(parts: ReadonlyArray<Part>): Effect.Effect<ReadonlyArray<BatchAnswer | undefined>> {
    const self = this
    return Effect.gen(function* () {
      const answers = new Array<BatchAnswer | undefined>(parts.length).fill(undefined)
      let delayMs = firstRepeatDelayMs
      for (;;) {
        // Lanes given up meanwhile are left out: their callers have been told so.
        const trials = parts.flatMap((part, index) =>
          part.open.isOpen && answers[index] === undefined ? [new Trial(part, index)] : [],
        )
        if (trials.length === 0) return answers
        const written = yield* self.#store.write(trials.map(({ batch }) => batch)).pipe(Effect.result)
        if (written._tag === "Success") {
          for (const [place, trial] of trials.entries()) {
            const answer = trial.ends(written.success[place])
            // It has done nothing, and the shard is still this owner's: the next call comes after all others.
            answers[trial.index] = answer?.result === "overtaken" ? undefined : answer
          }
          const hasAll = trials.every(({ index }) => answers[index] !== undefined)
          if (hasAll) return answers
          yield* Effect.logWarning("a commit was refused as an older one, and is repeated")
        } else yield* self.#reportUnknown(written.failure)
        yield* Effect.sleep(delayMs)
        delayMs = Math.min(longestRepeatDelayMs, delayMs * 2)
      }
    })
  }

  #reportUnknown(error: StoreError): Effect.Effect<void> {
    // After a fatal error nothing may be acknowledged: the process is ending.
    if (error.isFatal) return Effect.never
    return Effect.logWarning(`a commit's result is unknown and it is repeated: ${error.message}`)
  }

  #answer({ parts, answers }: Answered): void {
    for (const [index, part] of parts.entries()) {
      const { open, writes } = part
      const batch = answers[index]
      if (!open.isOpen || batch === undefined) continue
      if (batch.result !== "written") {
        this.#metrics.fenced(writes.length)
        open.lane.onOwnershipLost()
        continue
      }
      open.unanswered.delete(part)
      if (open.unanswered.size === 0) open.heldBy = undefined
      for (let place = 0; place < writes.length; place++) {
        const write = writes[place]
        if (write === undefined) continue
        this.#forgetQueued(write)
        const answer = batch.answers[place]
        if (answer !== undefined) open.lane.onAnswer(write.item, answer)
        write.onAnswer(answer ?? "unknown")
      }
    }
    this.#noteRoom()
  }

  #leave(write: WeighedWrite, why: Unanswered): void {
    this.#forgetQueued(write)
    write.onAnswer(why)
  }

  #forgetQueued({ bytes }: WeighedWrite): void {
    this.#queuedItems--
    this.#queuedBytes -= bytes
  }

  /** To be called after writes were forgotten. */
  #noteRoom(): void {
    if (!this.isFull) this.#room.openUnsafe()
    if (this.#queuedItems === 0) this.#idle.openUnsafe()
  }
}

/**
 * Takes what fits into a commit, in order, each key once: else the commit could not be repeated as it was,
 * because a create that was replaced and cancelled after it would find its key free again. Later writes of a
 * key that is taken stay behind, and keep nobody else's waiting. Only restores of a key go together, as far as
 * `restoresOfKeyAtOnce`: they overwrite nothing, so a repeat of several is as harmless as that of one.
 */
const takeFrom = (lane: OpenLane, mostItems: number, mostBytes: number): Array<WeighedWrite> => {
  const taken: Array<WeighedWrite> = []
  const left: Array<WeighedWrite> = []
  const keys = new Set<Uuid>()
  /** Of keys with restores: how many may still be taken; none, once anything of the key stays behind. */
  const restoresLeft = new Map<Uuid, number>()
  let bytes = 0
  let next = 0
  for (; next < lane.queued.length && taken.length < mostItems; next++) {
    const write = lane.queued[next]
    if (write === undefined) break
    const { item } = write
    const { uuid } = keyOfItem(item)
    const isRestore = item.kind === "restore"
    const more = isRestore ? (restoresLeft.get(uuid) ?? 0) : 0
    // One look-up of the key instead of two: the set grows by a new one only.
    const keysBefore = keys.size
    const isRepeated = keys.add(uuid).size === keysBefore
    if (isRepeated && more === 0) {
      left.push(write)
      restoresLeft.delete(uuid)
      continue
    }
    if (bytes + write.bytes > mostBytes) break
    if (isRestore) restoresLeft.set(uuid, (isRepeated ? more : restoresOfKeyAtOnce) - 1)
    bytes += write.bytes
    taken.push(write)
  }
  lane.queued = next === lane.queued.length ? left : left.concat(lane.queued.slice(next))
  return taken
}

/** As it was, but for a discard: that leaves no trace, so what a repeat finds gone it may have removed itself. */
const asRepeat = (item: WriteItem): WriteItem =>
  item.kind === "discard" ? { ...item, isRepeat: true } : item

/** One call's share of a lane, and what the call leaves known. */
class Trial {
  readonly batch: ShardBatch
  readonly index: number
  readonly #part: Part
  readonly #wasTried: boolean

  constructor(part: Part, index: number) {
    const { lane } = part.open
    this.#part = part
    this.index = index
    this.#wasTried = part.mayBeDone
    part.mayBeDone = true
    this.batch = {
      shard: lane.shard,
      epoch: lane.epoch,
      items: part.writes.map(({ item }) => (this.#wasTried ? asRepeat(item) : item)),
    }
  }

  /** A call that was refused has done nothing: of its writes no more is unknown than before it. */
  ends(answer: BatchAnswer | undefined): BatchAnswer | undefined {
    if (answer !== undefined && answer.result !== "written") this.#part.mayBeDone = this.#wasTried
    return answer
  }
}
