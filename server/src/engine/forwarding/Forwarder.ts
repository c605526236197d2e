// Forwards writes for shards that other nodes own to their owners. So any node answers for any key with the owner's
// definite result. Writes of one key go one after another. Batches cover all keys: while one call is running, the next
// batch collects.
//
// If a write was not answered, the next step depends on what is known about it:
//  - The peer does not own the shard, so nothing was done. The forwarder reads the view again and sends the write to
//    the current owner. If that is this node, the write goes into its own queue.
//  - The write certainly did not arrive, and no owner is reachable (the shard is free for longer than a handover takes,
//    or the owner's address still refuses connections). A create is inserted if its key is free, which needs no owner.
//    Any other write needs the owner's decision, so the caller is refused.
//  - The write may have been executed. The forwarder repeats it with the same ids to the current owner, until the
//    result is known or the time is over. The repeat is marked, because others may have written the key since. If the
//    owner can no longer tell whether the write was executed, it does not execute it, and the caller is told so. Such a
//    write is never inserted, because an owner may still be working on it.
//
// Every request is answered within its time limit. After the limit, the caller is told whether the result is unknown. A
// call that is still running then blocks later writes of its keys until it ends, so that no write overtakes another.
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
import type { ActivityCounter } from "../activity/ActivityCounter.ts"
import type { EngineMetrics, ForwardedResult } from "../EngineMetrics.ts"
import type { EventFeed } from "../events/EventFeed.ts"
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
  readonly activity?: Pick<ActivityCounter, "answered">
  /** Told about creates that this node stored for the next owner. */
  readonly events?: Pick<EventFeed, "isHeard" | "answered">
}

/** The limits for each peer, and for the writes without a visible owner. */
export const roomItems = 10_000
export const roomBytes = 32 * 1024 * 1024
/** Small enough to be written, sent and read as JSON in two or three milliseconds each. */
const batchLimits = { batchItems: 250, batchBytes: 256 * 1024 }
const callsPerPeer = 2
const callWithinMs = 2_000
/** The time limit from the receipt of a request to its answer. */
export const answerWithinMs = 5_000
/** Longer than a handover takes: only a shard that stays free for this long has no owner. */
const freeForMs = 500
/** The same for a write that only an owner can decide. Waiting longer costs nothing: the caller would be refused. */
const ownerAwaitedMs = 2_500
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
  /** The writes of a key, in order. Only the first is on its way. */
  readonly #keys = new Map<Uuid, Array<CarriedWrite>>()
  /** Writes that are not answered yet, in the order of their deadlines. */
  readonly #open = new Set<CarriedWrite>()
  readonly #hasOpen = Latch.makeUnsafe(false)
  /** Postponed writes. */
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
      answered: (carried, answer) => {
        parts.activity?.answered(carried.item, answer)
        if (parts.events?.isHeard === true) parts.events.answered(carried.item, answer, undefined)
        this.#conclude(carried, answer, "inserted")
      },
      over: (carried) => this.#release(carried),
      differs: (carried) =>
        this.#refuse(carried, "its timer exists with other content, and no owner is reachable"),
      needsOwner: (carried) =>
        this.#refuse(
          carried,
          "no owner is reachable, and only an owner may create a timer whose key was used before, or any timer in a store " +
            "that accepts no other writes",
        ),
      failed: (carried, message) => {
        this.#warn(`timers without a reachable owner could not be stored: ${message}`)
        this.#again(carried)
      },
    })
  }

  /** When the scope closes, the callers of all open writes are told that the result is unknown. */
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

  /** Whether writes of the key are on their way. Later writes of the key must wait behind them. */
  holds(uuid: Uuid): boolean {
    return this.#keys.has(uuid)
  }

  /**
   * Answers exactly once, perhaps before this returns. `mayBeDone`: this node has already tried the write and does not
   * know the result.
   */
  carry(
    item: CarriedItem,
    onAnswer: (result: CarriedResult) => void,
    { mayBeDone }: { readonly mayBeDone: boolean } = { mayBeDone: false },
  ): void {
    const key = keyOfItem(item)
    const shard = this.#parts.own.shardOf(key)
    if (shard === undefined || this.#isClosed) {
      this.#parts.metrics.forwarded(mayBeDone ? "unknown" : "refused")
      onAnswer(
        unavailable(this.#isClosed ? stopping : "this process has not reached the store yet", mayBeDone),
      )
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

  /** Sends the write to the node that can execute it now. Only for the first write of a key. */
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
      const awaitedMs = carried.outgoing.kind === "put" ? freeForMs : ownerAwaitedMs
      if (this.#now() - carried.freeSinceNanos < nanos(awaitedMs)) this.#again(carried)
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
    else this.#refuse(carried, "no owner of the timer's shard is reachable")
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
      // Runs in a turn of its own, so that writes queued in one turn share a call.
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
      // If an adapter throws, the result of its call is unknown.
      Effect.catchDefect((defect) => new PeerError({ message: String(defect), isUndelivered: false })),
      Effect.match({
        onSuccess: (answers) => {
          for (const [index, carried] of batch.entries()) {
            this.#answered(carried, answers[index] ?? { kind: "unknown" })
          }
        },
        onFailure: (error) => {
          this.#warn(`a call to ${nameOf(to)} failed: ${error.message}`)
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
    // The caller may only be told that nothing was written if no earlier try may have written it.
    else if (answer.kind === "overloaded" && !carried.isUnknown) {
      this.#finish(carried, new TooManyWrites({ retryAfterMs: answer.retryAfterMs }), "refused")
    } else this.#again(carried)
  }

  /** Postpones the write. Pauses end together, so that one read of the view serves all waiting writes. */
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

  /** All requests have the same time limit, so the oldest reach it first. */
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

  /** Answers the caller. The code that is still working on the write sees that it is over, and drops it. */
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

  /** No call is working on the first write of its key any more, so the next one may start. */
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

  /** A peer that is down fails many calls, so the log names it only once in a while. */
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

/**
 * The identity of a peer. The same node at another address, another node at the same address, or the same node with
 * another release, is another peer.
 */
const nameOf = ({ node, address, lacksSignatures }: PeerNode): string =>
  `${node} at ${address}${lacksSignatures === true ? " (a release that does not sign calls)" : ""}`

const stopping = "this process is stopping"
const writtenSince = "the owner's answer was lost, and others may have written the timer since"

const unavailable = (message: string, mayBeDone: boolean): NoOwner =>
  new NoOwner({ message, retryAfterMs, mayBeDone })

const nanos = (ms: number): bigint => BigInt(ms) * 1_000_000n

const millis = (nanos: bigint): number => Math.ceil(Number(nanos) / 1e6)
