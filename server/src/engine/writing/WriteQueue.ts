// One ordered queue of writes for each shard, and commits that are shared by all shards. While one commit is on its way
// to disk, the next one collects writes, so that many callers share its cost. CommitTrigger.ts says when one begins.
//
// At most one commit of a shard is running. Its answers reach the shard's window first, then the callers, in queue
// order. A commit with an unknown result is repeated unchanged, ids included, until its result is known or the shard is
// given up. Items are designed so that a repeat is harmless. If a call was given up but still arrives after its repeat,
// the store ignores it.
import { Clock, Effect, Fiber, Latch, type Scope } from "effect"
import type { Cursor } from "../../domain/DueOrder.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import { itemBytes } from "../../domain/WriteItem.ts"
import type { BatchAnswer, ShardBatch, StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { Guard } from "../Guard.ts"
import { CommitTrigger } from "./CommitTrigger.ts"
import { LaneQueue, type QueuedWrite, type Unanswered, type WeighedWrite } from "./LaneQueue.ts"

/** The queue of one owned shard. */
export interface Lane {
  readonly shard: number
  readonly epoch: number
  /**
   * Gets every answer before its caller does, with the place of the pending row that the item replaced or removed, if
   * the store tells it.
   */
  readonly onAnswer: (item: WriteItem, answer: WriteAnswer, vacated: Cursor | undefined) => void
  /** Another owner has claimed the shard. */
  readonly onOwnershipLost: () => void
}

interface OpenLane {
  readonly lane: Lane
  readonly queued: LaneQueue
  /** The parts of this lane in commits that are running, or whose answers are not passed on yet. */
  readonly unanswered: Set<Part>
  /** The committer that has unanswered parts of this lane. Others skip the lane, so that answers keep their order. */
  heldBy: number | undefined
  isOpen: boolean
  /** Accepts no more writes, but still commits what it has. */
  takesNoMore: boolean
}

/** The writes of one lane in a commit. */
interface Part {
  readonly open: OpenLane
  readonly writes: ReadonlyArray<WeighedWrite>
  /** A call with this part was sent, and it may have been executed. */
  mayBeDone: boolean
  /** How many of the writes have been answered, in order. */
  answered: number
}

interface Answered {
  readonly parts: ReadonlyArray<Part>
  readonly answers: ReadonlyArray<BatchAnswer | undefined>
}

/** The part of a store that the queue needs. */
export type WrittenStore = Pick<TimerStore["Service"], "limits" | "write">

export interface WriteQueueLimits {
  /**
   * Beyond these limits, callers must try again later. Outcomes are always accepted, because the limit of attempts in
   * flight bounds them.
   */
  readonly queuedItems: number
  readonly queuedBytes: number
  /** How long a write with `canWait` waits for others at most. 0: not at all. */
  readonly waitMs: number
}

const firstRepeatDelayMs = 50
const longestRepeatDelayMs = 2_000
/** The most answers that are passed on before the thread does other work. One takes about 0.01 ms. */
const answersAtOnce = 100

type WrittenBatch = Extract<BatchAnswer, { readonly result: "written" }>

export class WriteQueue {
  readonly #lanes = new Map<number, OpenLane>()
  readonly #idle = Latch.makeUnsafe(true)
  readonly #room = Latch.makeUnsafe(true)
  readonly #store: WrittenStore
  readonly #limits: WriteQueueLimits
  readonly #metrics: EngineMetrics
  readonly #trigger: CommitTrigger
  readonly #clock: Clock.Clock
  #queuedItems = 0
  #queuedBytes = 0
  #turn = 0
  #progressAtNanos: bigint

  private constructor(
    store: WrittenStore,
    limits: WriteQueueLimits,
    metrics: EngineMetrics,
    clock: Clock.Clock,
  ) {
    this.#store = store
    this.#limits = limits
    this.#metrics = metrics
    this.#trigger = new CommitTrigger(limits.waitMs)
    this.#clock = clock
    this.#progressAtNanos = clock.monotonicTimeNanosUnsafe()
  }

  static make(
    store: WrittenStore,
    limits: WriteQueueLimits,
    metrics: EngineMetrics,
    guard: Guard,
  ): Effect.Effect<WriteQueue, never, Scope.Scope> {
    return Effect.gen(function* () {
      const clock = yield* Clock.clockWith(Effect.succeed)
      const queue = new WriteQueue(store, limits, metrics, clock)
      for (let committer = 0; committer < store.limits.concurrentWrites; committer++) {
        yield* Effect.forkScoped(guard("committing", queue.#commitForever(committer)))
      }
      if (limits.waitMs > 0) yield* Effect.forkScoped(guard("committing", queue.#trigger.endWaits))
      return queue
    })
  }

  open(lane: Lane): void {
    this.#lanes.set(lane.shard, {
      lane,
      queued: new LaneQueue(),
      unanswered: new Set(),
      heldBy: undefined,
      isOpen: true,
      takesNoMore: false,
    })
  }

  /** The shard is about to be given up. The queue accepts nothing more for it, but still commits what it has. */
  stopTaking({ shard, epoch }: Pick<Lane, "shard" | "epoch">): void {
    const open = this.#lanes.get(shard)
    if (open?.lane.epoch !== epoch) return
    open.takesNoMore = true
    this.#trigger.makeDue()
  }

  takesNoMore({ shard, epoch }: Pick<Lane, "shard" | "epoch">): boolean {
    const open = this.#lanes.get(shard)
    return open?.lane.epoch === epoch && open.takesNoMore
  }

  /** Whether the queue accepts writes of the shard under this epoch. */
  takes({ shard, epoch }: Pick<Lane, "shard" | "epoch">): boolean {
    const open = this.#lanes.get(shard)
    return open?.lane.epoch === epoch && !open.takesNoMore
  }

  /** Whether all writes of the shard under this epoch have been answered. */
  isFlushed({ shard, epoch }: Pick<Lane, "shard" | "epoch">): boolean {
    const open = this.#lanes.get(shard)
    return open?.lane.epoch !== epoch || (open.queued.length === 0 && open.unanswered.size === 0)
  }

  /** Gives a shard up. Open writes get no answer from the store. Unsent ones are reported as not written. */
  close(shard: number): void {
    const open = this.#lanes.get(shard)
    if (open === undefined) return
    this.#lanes.delete(shard)
    open.isOpen = false
    const queued = open.queued.takeAll()
    for (const part of open.unanswered) {
      const left = part.writes.slice(part.answered)
      part.answered = part.writes.length
      for (const write of left) this.#leave(write, part.mayBeDone ? "unknown" : "notWritten")
    }
    for (const write of queued) this.#leave(write, "notWritten")
    this.#noteRoom()
  }

  /** False if the shard is not open under this epoch; then nothing was queued. The caller checks `isFull`. */
  push(
    { shard, epoch }: Pick<Lane, "shard" | "epoch">,
    { item, onAnswer, isOnlyOfKey = false, canWait = false }: QueuedWrite,
  ): boolean {
    const open = this.#lanes.get(shard)
    if (open?.lane.epoch !== epoch || open.takesNoMore) return false
    const bytes = itemBytes(item)
    open.queued.push({ item, onAnswer, isOnlyOfKey, bytes })
    // A write that waits for others must not look as if it had waited since the last commit.
    if (this.#queuedItems === 0) this.#progressAtNanos = this.#clock.monotonicTimeNanosUnsafe()
    this.#queuedItems++
    this.#queuedBytes += bytes
    if (this.isFull) this.#room.closeUnsafe()
    this.#idle.closeUnsafe()
    this.#trigger.queued(canWait)
    return true
  }

  get isFull(): boolean {
    return this.#queuedItems >= this.#limits.queuedItems || this.#queuedBytes >= this.#limits.queuedBytes
  }

  /** Resolves when the queue is not full, for callers that can wait. Others are told to try again later. */
  get awaitRoom(): Effect.Effect<void> {
    return this.#room.await
  }

  /** Since when there has been work without any answer, in monotonic nanoseconds. `undefined` if nothing is queued. */
  get stuckSinceNanos(): bigint | undefined {
    return this.#queuedItems === 0 ? undefined : this.#progressAtNanos
  }

  /** Resolves when every queued write has been answered. */
  get awaitIdle(): Effect.Effect<void> {
    return this.#idle.await
  }

  /**
   * As soon as one commit is answered, the next one starts with all writes queued meanwhile. Only then are the answers
   * passed on, so that the store and this thread work in parallel.
   */
  #commitForever(committer: number): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      let answered: Answered | undefined
      for (;;) {
        const parts = self.#gather(committer)
        if (parts.length > 0) {
          const commit = yield* Effect.forkChild(self.#writeUntilKnown(parts), { startImmediately: true })
          if (answered !== undefined) yield* self.#answer(answered)
          const answers = yield* Fiber.join(commit)
          answered = { parts, answers }
        } else if (answered !== undefined) {
          yield* self.#answer(answered)
          answered = undefined
        } else {
          yield* self.#trigger.awaitNextDue
          // Runs in a turn of its own, not in the call that pushed, so that writes pushed in one turn share a commit.
          yield* Effect.yieldNow
        }
        self.#progressAtNanos = self.#clock.monotonicTimeNanosUnsafe()
      }
    })
  }

  /**
   * The next commit, up to the store's limit. If more is queued, it takes the same share of each lane, oldest writes
   * first, and leaves lanes to the other free committers. A caller's writes are spread over all lanes, so they are
   * answered before those of later callers, and new work can come in while others are being committed.
   */
  #gather(committer: number): ReadonlyArray<Part> {
    if (!this.#trigger.isDue) return []
    const { batchItems, batchBytes } = this.#store.limits
    const { lanes, fitsInOne } = this.#lanesFor(committer)
    const gathered: Array<Part> = []
    let items = 0
    let bytes = 0
    for (const [index, lane] of lanes.entries()) {
      if (items >= batchItems || bytes >= batchBytes) break
      const room = batchItems - items
      const share = fitsInOne ? room : Math.ceil(room / (lanes.length - index))
      const writes = lane.queued.take(share, batchBytes - bytes)
      if (writes.length === 0) {
        // The first item of a commit may exceed the limit alone. If it is too large, the store answers `unstorable`.
        const first = items === 0 ? lane.queued.takeFirst() : undefined
        if (first === undefined) break
        writes.push(first)
      }
      for (const write of writes) bytes += write.bytes
      const part: Part = { open: lane, writes, mayBeDone: false, answered: 0 }
      lane.heldBy = committer
      lane.unanswered.add(part)
      items += writes.length
      gathered.push(part)
    }
    if (items > 0) this.#metrics.committed(items)
    this.#trigger.taken([...this.#lanes.values()].some(({ queued }) => queued.length > 0))
    return gathered
  }

  /** Lanes with work that are free or belong to this committer, starting with a different lane each time. */
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
        // Lanes that were given up meanwhile are skipped, because their callers already have an answer.
        const trials = parts.flatMap((part, index) =>
          part.open.isOpen && answers[index] === undefined ? [new Trial(part, index)] : [],
        )
        if (trials.length === 0) return answers
        const written = yield* self.#store.write(trials.map(({ batch }) => batch)).pipe(Effect.result)
        if (written._tag === "Success") {
          for (const [place, trial] of trials.entries()) {
            const answer = trial.ends(written.success[place])
            // The call has changed nothing, and this owner still has the shard. The next call gets a higher number than
            // all others.
            answers[trial.index] = answer?.result === "overtaken" ? undefined : answer
          }
          const hasAll = trials.every(({ index }) => answers[index] !== undefined)
          if (hasAll) return answers
          yield* Effect.logWarning("a commit was refused because it looked older than another; trying again")
        } else yield* self.#reportUnknown(written.failure)
        yield* Effect.sleep(delayMs)
        delayMs = Math.min(longestRepeatDelayMs, delayMs * 2)
      }
    })
  }

  #reportUnknown(error: StoreError): Effect.Effect<void> {
    // After a fatal error nothing may be acknowledged, because the process is about to end.
    if (error.isFatal) return Effect.never
    return Effect.logWarning(`the result of a commit is unknown, trying again: ${error.message}`)
  }

  /** Passes the answers on, in slices. A shard may be given up between two of them. */
  #answer({ parts, answers }: Answered): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      let left = answersAtOnce
      for (const [index, part] of parts.entries()) {
        const { open, writes } = part
        const batch = answers[index]
        if (!open.isOpen || batch === undefined) continue
        if (batch.result !== "written") {
          self.#metrics.fenced(writes.length)
          open.lane.onOwnershipLost()
          continue
        }
        while (part.answered < writes.length) {
          if (left === 0) {
            self.#noteRoom()
            yield* Effect.yieldNow
            left = answersAtOnce
            if (!open.isOpen) break
          }
          left--
          self.#answerNext(part, batch)
        }
        open.unanswered.delete(part)
        if (open.unanswered.size === 0) open.heldBy = undefined
      }
      self.#noteRoom()
    })
  }

  #answerNext(part: Part, { answers, vacated }: WrittenBatch): void {
    const place = part.answered++
    const write = part.writes[place]
    if (write === undefined) return
    this.#forgetQueued(write)
    const answer = answers[place]
    if (answer !== undefined) part.open.lane.onAnswer(write.item, answer, vacated?.get(place))
    write.onAnswer(answer ?? "unknown")
  }

  #leave(write: WeighedWrite, why: Unanswered): void {
    this.#forgetQueued(write)
    write.onAnswer(why)
  }

  #forgetQueued({ bytes }: WeighedWrite): void {
    this.#queuedItems--
    this.#queuedBytes -= bytes
  }

  /** Must be called after writes were removed. */
  #noteRoom(): void {
    this.#metrics.flush()
    if (!this.isFull) this.#room.openUnsafe()
    if (this.#queuedItems === 0) this.#idle.openUnsafe()
  }
}

/**
 * The same item, except for a discard. A discard leaves no trace, so its repeat must allow that it removed the dead
 * letter itself.
 */
const asRepeat = (item: WriteItem): WriteItem =>
  item.kind === "discard" ? { ...item, isRepeat: true } : item

/** One call's part of a lane, and what is known after the call. */
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
    const items = part.writes.map(({ item }) => (this.#wasTried ? asRepeat(item) : item))
    this.batch = {
      shard: lane.shard,
      epoch: lane.epoch,
      items,
      hasEachKeyOnce: !items.some(({ kind }) => kind === "restore"),
    }
  }

  /** A refused call has changed nothing, so its writes are as certain or uncertain as before. */
  ends(answer: BatchAnswer | undefined): BatchAnswer | undefined {
    if (answer !== undefined && answer.result !== "written") this.#part.mayBeDone = this.#wasTried
    return answer
  }
}
