// Carries writes of shards that other nodes own to their owners, so that any node answers for any key with the
// owner's definite result. One write after another of a key, batched over all keys: while one call is out, the
// next gathers.
//
// What is done with a write that was not answered depends on what is known of it:
//  - The peer does not own the shard: nothing was done. The view is read again, and the write goes to whoever owns
//    the shard now; if that is this node, into its own queue.
//  - It surely did not arrive, and no owner is in reach (the shard is free for longer than a handover takes, or the
//    owner's address still refuses): a create is inserted if its key is free, which needs no owner; for anything
//    else only the owner's word would do, and the caller is refused.
//  - It may have been done: it is repeated, ids included, to whoever owns the shard, until its result is known or its
//    time is over. The repeat is marked, for others may have written the key since: where nothing tells any more
//    whether it was done, it is not done, and the caller is told so. It is never inserted: an owner may still be at it.
//
// Every request is answered within its bound. Past it the caller is told whether the result is unknown; a call that
// is still out then holds the later writes of its keys back until it ends, so that none overtakes another.
import { Clock, Effect, Fiber, Latch, type Scope } from "effect"
import type { Uuid } from "../../domain/Timer.ts"
import { keyOfItem, type WriteAnswer } from "../../domain/WriteItem.ts"
import {
  type CarriedAnswer,
  type CarriedItem,
  PeerError,
  type PeerNode,
  type Peers,
} from "../../ports/Peers.ts"
import type { TimerStore } from "../../ports/TimerStore.ts"
import type { EngineMetrics, ForwardedResult } from "../EngineMetrics.ts"
import { NoOwner, TooManyWrites } from "../front/RefusedWrite.ts"
import type { Guard } from "../Guard.ts"
import type { ClusterView } from "../ownership/ClusterView.ts"
import { Signal } from "../Signal.ts"
import { type OwnWrites, queuedPerKey, retryAfterMs } from "../writing/OwnWrites.ts"
import { type CarriedResult, CarriedWrite, carriedBytes, PeerLoad } from "./CarriedWrite.ts"
import { ForeignInserts } from "./ForeignInserts.ts"
import { PeerQueue } from "./PeerQueue.ts"

export interface ForwarderParts {
  readonly view: ClusterView
  readonly peers: Pick<Peers["Service"], "write">
  readonly store: Pick<TimerStore["Service"], "insertIfAbsent" | "limits">
  readonly own: Pick<OwnWrites, "shardOf" | "owns" | "put">
  readonly metrics: EngineMetrics
  readonly guard: Guard
}

/** For each peer; what has no owner in sight is bounded the same way. */
export const roomItems = 10_000
export const roomBytes = 32 * 1024 * 1024
const batchLimits = { batchItems: 500, batchBytes: 4 * 1024 * 1024 }
const callsPerPeer = 2
const callWithinMs = 2_000
/** From the receipt of a request to its answer. */
export const answerWithinMs = 5_000
/** A handover takes less: only a shard that stays free for this long has no owner. */
const freeForMs = 500
const firstPauseMs = 20
const longestPauseMs = 200
const refreshWithinMs = 500
const idleMs = 10_000
const warnEveryMs = 10_000

export class Forwarder {
  readonly #parts: ForwarderParts
  readonly #clock: Clock.Clock
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #inserts: ForeignInserts
  readonly #peers = new Map<string, PeerQueue>()
  readonly #loads = new Map<string | undefined, PeerLoad>()
  /** The writes of a key, in order: only the first is on its way. */
  readonly #keys = new Map<Uuid, Array<CarriedWrite>>()
  /** Not answered yet, in the order in which their time ends. */
  readonly #open = new Set<CarriedWrite>()
  readonly #hasOpen = Latch.makeUnsafe(false)
  /** Put off for a while. */
  readonly #waiting = new Set<CarriedWrite>()
  readonly #waitingSignal = new Signal()
  #wakesAtNanos = 0n
  #warnedNanos: bigint | undefined
  #isClosed = false

  private constructor(parts: ForwarderParts, clock: Clock.Clock, run: (effect: Effect.Effect<void>) => void) {
    this.#parts = parts
    this.#clock = clock
    this.#run = run
    this.#inserts = new ForeignInserts(parts.store, run, callWithinMs, {
      answered: (carried, answer) => this.#conclude(carried, answer, "inserted"),
      over: (carried) => this.#release(carried),
      differs: (carried) =>
        this.#refuse(carried, "its timer exists with other content, and no owner is in reach"),
      needsOwner: (carried) =>
        this.#refuse(carried, "its timer has lived before, and no owner is in reach to begin it anew"),
      failed: (carried, message) => {
        this.#warn(`timers without an owner in reach could not be stored: ${message}`)
        this.#again(carried)
      },
    })
  }

  /** Whatever is on its way when the scope closes is told that it may or may not have been done. */
  static make(parts: ForwarderParts): Effect.Effect<Forwarder, never, Scope.Scope> {
    return Effect.gen(function* () {
      const clock = yield* Clock.clockWith(Effect.succeed)
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      const fibers = new Set<Fiber.Fiber<void>>()
      const forwarder = new Forwarder(parts, clock, (effect) => {
        const fiber = runFork(parts.guard("forwarding", effect))
        fibers.add(fiber)
        fiber.addObserver(() => fibers.delete(fiber))
      })
      yield* Effect.addFinalizer(() =>
        Effect.andThen(
          Effect.suspend(() => Fiber.interruptAll([...fibers])),
          Effect.sync(() => forwarder.#close()),
        ),
      )
      yield* Effect.forkScoped(parts.guard("forwarding", forwarder.#endForever))
      yield* Effect.forkScoped(parts.guard("forwarding", forwarder.#tryAgainForever))
      return forwarder
    })
  }

  /** Whether writes of the key are on their way: those that come later must go behind them. */
  holds(uuid: Uuid): boolean {
    return this.#keys.has(uuid)
  }

  /** Answers once, perhaps before this returns. `mayBeDone`: this node has tried it already, and does not know. */
  carry(
    item: CarriedItem,
    onAnswer: (result: CarriedResult) => void,
    { mayBeDone }: { readonly mayBeDone: boolean } = { mayBeDone: false },
  ): void {
    const key = keyOfItem(item)
    const shard = this.#parts.own.shardOf(key)
    if (shard === undefined || this.#isClosed) {
      this.#parts.metrics.forwarded(mayBeDone ? "unknown" : "refused")
      onAnswer(unavailable(this.#isClosed ? stopping : "this process has not seen the store yet", mayBeDone))
      return
    }
    const owner = this.#parts.view.ownerOf(shard)
    const peer = owner === undefined ? undefined : nameOf(owner)
    const load = this.#loads.get(peer) ?? new PeerLoad(peer)
    const behind = this.#keys.get(key.uuid)
    if (load.items >= roomItems || load.bytes >= roomBytes || (behind?.length ?? 0) >= queuedPerKey) {
      this.#parts.metrics.forwarded(mayBeDone ? "unknown" : "refused")
      onAnswer(
        mayBeDone
          ? unavailable("too many writes wait for the owner", true)
          : new TooManyWrites({ retryAfterMs }),
      )
      return
    }
    const carried = new CarriedWrite({
      item,
      uuid: key.uuid,
      shard,
      bytes: carriedBytes(item),
      load,
      deadlineNanos: this.#now() + nanos(answerWithinMs),
      onAnswer,
      mayBeDone,
    })
    this.#loads.set(peer, load)
    load.add(carried.bytes)
    this.#open.add(carried)
    this.#hasOpen.openUnsafe()
    if (behind !== undefined) {
      behind.push(carried)
      return
    }
    this.#keys.set(key.uuid, [carried])
    this.#route(carried)
  }

  /** To whoever can do it now; the first write of its key only. */
  #route(carried: CarriedWrite): void {
    if (carried.isOver) {
      this.#release(carried)
      return
    }
    const { shard } = carried
    if (this.#parts.own.owns(shard)) {
      carried.isUnderWay = true
      this.#parts.own.put(carried.outgoing, (answer) => this.#answered(carried, answer))
      return
    }
    const owner = this.#parts.view.ownerOf(shard)
    if (owner === undefined) {
      carried.refusedBy = undefined
      carried.freeSinceNanos ??= this.#now()
      if (this.#now() - carried.freeSinceNanos < nanos(freeForMs)) this.#again(carried)
      else this.#doWithoutOwner(carried)
      return
    }
    carried.freeSinceNanos = undefined
    if (carried.refusedBy === nameOf(owner)) {
      this.#doWithoutOwner(carried)
      return
    }
    carried.refusedBy = undefined
    this.#send(carried, owner)
  }

  #doWithoutOwner(carried: CarriedWrite): void {
    const { outgoing } = carried
    if (carried.mayBeDone) {
      carried.refusedBy = undefined
      this.#again(carried)
    } else if (outgoing.kind === "put") this.#inserts.add(carried, outgoing)
    else this.#refuse(carried, "no owner of the timer's shard is in reach")
  }

  #send(carried: CarriedWrite, to: PeerNode): void {
    const peer = this.#peers.get(nameOf(to)) ?? new PeerQueue(to)
    this.#peers.set(nameOf(to), peer)
    peer.push(carried)
    if (peer.senders === callsPerPeer) return
    peer.senders++
    this.#run(this.#sendAll(peer))
  }

  /** Sends batch after batch until the queue is empty. */
  #sendAll(peer: PeerQueue): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      // In a turn of its own: what is queued in one turn shares a call.
      yield* Effect.yieldNow
      while (!peer.isEmpty) {
        const taken = peer.take(batchLimits)
        const batch = taken.filter((carried) => !carried.isOver)
        for (const carried of taken) if (carried.isOver) self.#release(carried)
        if (batch.length > 0) yield* self.#call(peer.to, batch)
      }
      peer.senders--
      if (peer.senders === 0) self.#peers.delete(nameOf(peer.to))
    })
  }

  #call(to: PeerNode, batch: ReadonlyArray<CarriedWrite>): Effect.Effect<void> {
    for (const carried of batch) carried.isUnderWay = true
    return Effect.suspend(() =>
      this.#parts.peers.write(
        to,
        batch.map(({ outgoing }) => outgoing),
      ),
    ).pipe(
      Effect.timeoutOrElse({
        duration: callWithinMs,
        orElse: () =>
          new PeerError({ message: `it did not answer within ${callWithinMs} ms`, isUndelivered: false }),
      }),
      // An adapter that breaks has done nobody knows what.
      Effect.catchDefect((defect) => new PeerError({ message: String(defect), isUndelivered: false })),
      Effect.match({
        onSuccess: (answers) => {
          for (const [index, carried] of batch.entries()) {
            this.#answered(carried, answers[index] ?? { kind: "unknown" })
          }
        },
        onFailure: (error) => {
          this.#warn(`${nameOf(to)} could not be asked: ${error.message}`)
          for (const carried of batch) {
            if (error.isUndelivered) carried.refusedBy = nameOf(to)
            this.#answered(carried, { kind: error.isUndelivered ? "notOwner" : "unknown" })
          }
        },
      }),
    )
  }

  #answered(carried: CarriedWrite, answer: CarriedAnswer): void {
    carried.isUnderWay = false
    if (answer.kind === "unknown") carried.mayBeDone = true
    if (carried.isOver) this.#release(carried)
    else if (answer.kind === "answered") this.#conclude(carried, answer.answer, "answered")
    // To say that nothing was written, nothing may have been tried before.
    else if (answer.kind === "overloaded" && !carried.isUnknown) {
      this.#finish(carried, new TooManyWrites({ retryAfterMs: answer.retryAfterMs }), "refused")
    } else this.#again(carried)
  }

  /** Puts it off. Pauses end together, so that one read of the view serves all that wait for it. */
  #again(carried: CarriedWrite): void {
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** carried.pauses)
    const step = nanos(firstPauseMs)
    carried.pauses++
    carried.dueNanos = ((this.#now() + nanos(pauseMs) + step - 1n) / step) * step
    this.#waiting.add(carried)
    if (carried.dueNanos < this.#wakesAtNanos) this.#waitingSignal.raise()
  }

  readonly #tryAgainForever: Effect.Effect<never> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        const now = self.#now()
        const due: Array<CarriedWrite> = []
        let earliestNanos = now + nanos(idleMs)
        for (const carried of self.#waiting) {
          if (carried.dueNanos <= now) due.push(carried)
          else if (carried.dueNanos < earliestNanos) earliestNanos = carried.dueNanos
        }
        if (due.length === 0) {
          self.#wakesAtNanos = earliestNanos
          yield* self.#waitingSignal.waitAtMost(millis(earliestNanos - now))
          self.#wakesAtNanos = 0n
          continue
        }
        yield* Effect.timeoutOption(self.#parts.view.refresh, refreshWithinMs)
        for (const carried of due) {
          self.#waiting.delete(carried)
          self.#route(carried)
        }
      }
    })
  })

  /** All requests have the same time: those that came first run out of it first. */
  readonly #endForever: Effect.Effect<never> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        const [oldest] = self.#open
        if (oldest === undefined) {
          self.#hasOpen.closeUnsafe()
          yield* self.#hasOpen.await
          continue
        }
        const leftNanos = oldest.deadlineNanos - self.#now()
        if (leftNanos > 0n) yield* Effect.sleep(millis(leftNanos))
        else self.#giveUp(oldest, "the owner of the timer's shard did not answer in time")
      }
    })
  })

  #close(): void {
    this.#isClosed = true
    for (const carried of [...this.#open]) this.#giveUp(carried, stopping)
  }

  /** Answers the caller; whoever has the write in hand finds it over, and lets it go. */
  #giveUp(carried: CarriedWrite, why: string): void {
    const isUnknown = carried.isUnknown || carried.isUnderWay
    this.#end(carried, unavailable(why, isUnknown), isUnknown ? "unknown" : "refused")
  }

  #refuse(carried: CarriedWrite, why: string): void {
    this.#giveUp(carried, why)
    this.#release(carried)
  }

  #conclude(carried: CarriedWrite, answer: WriteAnswer, label: ForwardedResult): void {
    if (answer.result === "unknown") this.#finish(carried, unavailable(writtenSince, true), "unknown")
    else this.#finish(carried, answer, label)
  }

  #finish(carried: CarriedWrite, result: CarriedResult, label: ForwardedResult): void {
    this.#end(carried, result, label)
    this.#release(carried)
  }

  #end(carried: CarriedWrite, result: CarriedResult, label: ForwardedResult): void {
    if (carried.isOver) return
    carried.isOver = true
    this.#open.delete(carried)
    this.#parts.metrics.forwarded(label)
    carried.onAnswer(result)
  }

  /** The first write of its key is out of everyone's hands: the next one may go. */
  #release(carried: CarriedWrite): void {
    const writes = this.#keys.get(carried.uuid) ?? []
    do {
      const first = writes.shift()
      if (first !== undefined) this.#leaveRoom(first)
    } while (writes[0]?.isOver === true)
    const [next] = writes
    if (next === undefined) this.#keys.delete(carried.uuid)
    else this.#route(next)
  }

  #leaveRoom({ load, bytes }: CarriedWrite): void {
    load.remove(bytes)
    if (load.items === 0) this.#loads.delete(load.peer)
  }

  /** A peer that is away fails many calls: it is told of once in a while. */
  #warn(message: string): void {
    const now = this.#now()
    if (this.#warnedNanos !== undefined && now - this.#warnedNanos < nanos(warnEveryMs)) return
    this.#warnedNanos = now
    this.#run(Effect.logWarning(message))
  }

  #now(): bigint {
    return this.#clock.monotonicTimeNanosUnsafe()
  }
}

/** One that is found elsewhere, or another that is found in its place, is another. */
const nameOf = ({ node, address }: PeerNode): string => `${node} at ${address}`

const stopping = "this process is stopping"
const writtenSince = "the owner's answer was lost, and the timer may have been written by others since"

const unavailable = (message: string, mayBeDone: boolean): NoOwner =>
  new NoOwner({ message, retryAfterMs, mayBeDone })

const nanos = (ms: number): bigint => BigInt(ms) * 1_000_000n

const millis = (nanos: bigint): number => Math.ceil(Number(nanos) / 1e6)
