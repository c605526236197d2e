// Whether an attempt of a timer runs now, for those who look at it. Only the owner knows: of timers that others own
// it is asked, briefly, and what it does not tell is shown as pending.
import { Effect } from "effect"
import type { Timer } from "../../domain/Timer.ts"
import type { PeerNode, Peers } from "../../ports/Peers.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { Dispatcher } from "../dispatch/Dispatcher.ts"
import type { ClusterView } from "../ownership/ClusterView.ts"
import type { OwnWrites } from "../writing/OwnWrites.ts"

export interface FlightViewsParts {
  readonly own: Pick<OwnWrites, "shardOf" | "isInFlight">
  readonly dispatcher: Pick<Dispatcher, "runningFireIds">
  readonly wall: WallClock["Service"]
  /** Absent where one process has the store to itself. */
  readonly cluster:
    | { readonly view: ClusterView; readonly peers: Pick<Peers["Service"], "inFlight"> }
    | undefined
}

const askWithinMs = 300
/** Of one owner. Past it a look is not worth a connection: were it silent, they would soon be all there are. */
const asksAtOnce = 16
/** What is due later than this is not asked about: no owner's clock should be that far ahead. */
const soonMs = 60_000

interface Question {
  readonly to: PeerNode
  readonly fireIds: Array<string>
}

export class FlightViews {
  readonly #parts: FlightViewsParts
  /** How many questions are under way, by the owner's address. */
  readonly #asking = new Map<string, number>()

  constructor(parts: FlightViewsParts) {
    this.#parts = parts
  }

  areHere(fireIds: ReadonlyArray<string>): ReadonlyArray<boolean> {
    const running = this.#parts.dispatcher.runningFireIds()
    return fireIds.map((fireId) => running.has(fireId))
  }

  /** The fireIds of those whose attempt runs now, wherever that is; each owner is asked once. */
  inFlightAmong(timers: ReadonlyArray<Timer>): Effect.Effect<ReadonlySet<string>> {
    return Effect.suspend(() => {
      const { own } = this.#parts
      const found = new Set(timers.flatMap((timer) => (own.isInFlight(timer) ? [timer.fireId] : [])))
      const elsewhere = this.#byOwner(timers)
      if (elsewhere.size === 0) return Effect.succeed(found)
      // As many as there are owners.
      const asked = Effect.forEach(elsewhere.values(), ({ to, fireIds }) => this.#ask(to, fireIds), {
        concurrency: "unbounded",
      })
      return Effect.map(asked, (answers) => {
        for (const fireId of answers.flat()) found.add(fireId)
        return found
      })
    })
  }

  #byOwner(timers: ReadonlyArray<Timer>): ReadonlyMap<string, Question> {
    const { cluster, own, wall } = this.#parts
    const byOwner = new Map<string, Question>()
    if (cluster === undefined) return byOwner
    const latest = wall.now() + soonMs
    for (const timer of timers) {
      const shard = timer.fireAt > latest ? undefined : own.shardOf(timer)
      if (shard === undefined) continue
      // Of this node itself it tells nothing: its own were found already.
      const to = cluster.view.ownerOf(shard)
      if (to === undefined) continue
      const question = byOwner.get(to.address)
      if (question === undefined) byOwner.set(to.address, { to, fireIds: [timer.fireId] })
      else question.fireIds.push(timer.fireId)
    }
    return byOwner
  }

  #ask(to: PeerNode, fireIds: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> {
    return Effect.suspend(() => {
      const { cluster } = this.#parts
      const underWay = this.#asking.get(to.address) ?? 0
      if (cluster === undefined || underWay >= asksAtOnce) return Effect.succeed([])
      this.#asking.set(to.address, underWay + 1)
      return cluster.peers.inFlight(to, fireIds).pipe(
        Effect.map((answers) => fireIds.filter((_, index) => answers[index] === true)),
        Effect.timeoutOrElse({ duration: askWithinMs, orElse: () => Effect.succeed([]) }),
        Effect.catch(() => Effect.succeed([])),
        Effect.ensuring(Effect.sync(() => this.#endAsking(to.address))),
      )
    })
  }

  #endAsking(address: string): void {
    const underWay = this.#asking.get(address) ?? 1
    if (underWay === 1) this.#asking.delete(address)
    else this.#asking.set(address, underWay - 1)
  }
}
