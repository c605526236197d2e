// Whether an attempt of a timer runs now, for those who look at it. Only the owner knows: of timers that others own
// it is asked, briefly, and what it does not tell is shown as pending.
import { Effect } from "effect"
import type { Timer } from "../domain/Timer.ts"
import type { Peers } from "../ports/Peers.ts"
import type { WallClock } from "../ports/WallClock.ts"
import type { ClusterView } from "./ClusterView.ts"
import type { Dispatcher } from "./Dispatcher.ts"
import type { OwnWrites } from "./OwnWrites.ts"

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
/** What is due later than this is not asked about: no owner's clock should be that far ahead. */
const soonMs = 60_000

export class FlightViews {
  private readonly parts: FlightViewsParts

  constructor(parts: FlightViewsParts) {
    this.parts = parts
  }

  areHere(fireIds: ReadonlyArray<string>): ReadonlyArray<boolean> {
    const running = this.parts.dispatcher.runningFireIds()
    return fireIds.map((fireId) => running.has(fireId))
  }

  /** The fireIds of those whose attempt runs now, wherever that is; each owner is asked once. */
  inFlightAmong(timers: ReadonlyArray<Timer>): Effect.Effect<ReadonlySet<string>> {
    return Effect.suspend(() => {
      const { own } = this.parts
      const found = new Set(timers.flatMap((timer) => (own.isInFlight(timer) ? [timer.fireId] : [])))
      const elsewhere = this.byOwner(timers)
      if (elsewhere.size === 0) return Effect.succeed(found)
      const asked = Effect.forEach(elsewhere, ([address, fireIds]) => this.ask(address, fireIds), {
        concurrency: "unbounded",
      })
      return Effect.map(asked, (answers) => {
        for (const fireId of answers.flat()) found.add(fireId)
        return found
      })
    })
  }

  private byOwner(timers: ReadonlyArray<Timer>): ReadonlyMap<string, Array<string>> {
    const { cluster, own, wall } = this.parts
    const byOwner = new Map<string, Array<string>>()
    if (cluster === undefined) return byOwner
    const latest = wall.now() + soonMs
    for (const timer of timers) {
      const shard = timer.fireAt > latest ? undefined : own.shardOf(timer)
      if (shard === undefined) continue
      // Of this node itself it tells nothing: its own were found already.
      const address = cluster.view.ownerAddress(shard)
      if (address === undefined) continue
      const fireIds = byOwner.get(address)
      if (fireIds === undefined) byOwner.set(address, [timer.fireId])
      else fireIds.push(timer.fireId)
    }
    return byOwner
  }

  private ask(address: string, fireIds: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> {
    const asked = this.parts.cluster?.peers.inFlight(address, fireIds) ?? Effect.succeed([])
    return asked.pipe(
      Effect.map((answers) => fireIds.filter((_, index) => answers[index] === true)),
      Effect.timeoutOrElse({ duration: askWithinMs, orElse: () => Effect.succeed([]) }),
      Effect.catch(() => Effect.succeed([])),
    )
  }
}
