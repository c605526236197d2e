// The connections between the nodes. Calls take time. When a connection is cut or lossy, a call is lost before it
// arrives, or its answer is lost. A caller knows that a call did not arrive only if there was no connection.
import { Effect, Exit } from "effect"
import type { Engine } from "../../src/engine/Engine.ts"
import type { Scheduler } from "../../src/engine/front/Scheduler.ts"
import { PeerError, type PeerNode, type Peers } from "../../src/ports/Peers.ts"
import type { Chance } from "./Chance.ts"
import type { SimProcess } from "./SimProcess.ts"
import type { World } from "./World.ts"

/** A node as other nodes reach it under its address. */
export interface Reachable {
  readonly process: SimProcess
  readonly scheduler: Scheduler["Service"]
  readonly engine: Engine["Service"]
}

/**
 * The calls that one process made to other nodes. Each call has a number. With it the receiver recognises a call that
 * the caller gave up earlier.
 */
class Caller {
  readonly open = new Set<number>()
  /** For each receiving process: the lowest call number that the caller still waited for when a call arrived. */
  readonly seen = new Map<SimProcess, number>()
  calls = 0
}

const longestTripUs = 2_000
const answerWithinUs = 2_000_000

export class SimPeers {
  /** Until this instant, every connection loses calls. */
  flakyUntilUs = 0
  readonly #world: World
  readonly #chance: Chance
  readonly #reachable: (address: string) => Reachable | undefined
  readonly #cuts = new Map<string, number>()
  readonly #callers = new WeakMap<SimProcess, Caller>()

  constructor(world: World, reachable: (address: string) => Reachable | undefined) {
    this.#world = world
    this.#chance = world.chance("peers")
    this.#reachable = reachable
  }

  /** Cuts the connection between the two nodes until that instant. */
  cut(node: string, other: string, untilUs: number): void {
    this.#cuts.set(wayOf(node, other), untilUs)
  }

  heal(): void {
    this.#cuts.clear()
    this.flakyUntilUs = 0
  }

  /** The peers as a process on one machine sees them. */
  seenFrom(process: SimProcess): Peers["Service"] {
    return {
      // The receiver gets a new copy each time, as over a real network.
      write: (peer, items) =>
        this.#call(process, peer, ({ scheduler }) => scheduler.accept(structuredClone(items))),
      firing: (peer, timers) =>
        this.#call(process, peer, ({ scheduler }) => Effect.succeed(scheduler.firingHere(timers))),
      nudge: (peer) => this.#call(process, peer, ({ engine }) => Effect.sync(() => engine.lookNow())),
    }
  }

  #call<A>(
    from: SimProcess,
    peer: PeerNode,
    run: (peer: Reachable) => Effect.Effect<A>,
  ): Effect.Effect<A, PeerError> {
    const world = this.#world
    const caller = this.#callers.get(from) ?? new Caller()
    this.#callers.set(from, caller)
    return Effect.callback((resume) => {
      const number = caller.calls++
      caller.open.add(number)
      const lowestAwaited = Math.min(...caller.open)
      const answer = (exit: Exit.Exit<A, PeerError>, afterUs: number) =>
        world.after(afterUs, () => {
          if (!caller.open.delete(number)) return
          from.post(() => resume(exit))
        })
      const fail = (message: string, isUndelivered: boolean, afterUs: number) => {
        answer(Exit.fail(new PeerError({ message, isUndelivered })), afterUs)
      }
      world.after(this.#tripUs(), () => {
        const to = this.#reachable(peer.address)
        if (to === undefined || this.#isCut(from.name, to.process.name)) {
          fail("no connection", true, this.#chance.happens(0.7) ? this.#tripUs() : answerWithinUs)
          return
        }
        // The node restarted and has another name now.
        if (to.engine.cluster().node !== peer.node) {
          fail("another node was meant", true, this.#tripUs())
          return
        }
        // From here on, the caller cannot know whether the call was carried out.
        fail("no answer in time", false, answerWithinUs)
        if (this.#loses()) return
        const hangsUp = to.process.whenCrashed(() => fail("broken off", false, this.#tripUs()))
        to.process.post(() => {
          // The receiver refuses a call that the caller gave up and that arrives after later calls. It must not undo
          // what the later calls did.
          const seen = Math.max(lowestAwaited, caller.seen.get(to.process) ?? 0)
          caller.seen.set(to.process, seen)
          if (number < seen) return
          to.process.run(run(to)).addObserver((exit) => {
            hangsUp()
            if (!this.#loses() && !this.#isCut(from.name, to.process.name)) answer(exit, this.#tripUs())
          })
        })
      })
      return Effect.sync(() => caller.open.delete(number))
    })
  }

  #isCut(node: string, other: string): boolean {
    return this.#world.nowUs < (this.#cuts.get(wayOf(node, other)) ?? 0)
  }

  #loses(): boolean {
    return this.#world.nowUs < this.flakyUntilUs && this.#chance.happens(0.15)
  }

  #tripUs(): number {
    const isSlow = this.#world.nowUs < this.flakyUntilUs && this.#chance.happens(0.3)
    return isSlow ? this.#chance.skewed(10_000, 1_500_000) : this.#chance.between(50, longestTripUs)
  }
}

const wayOf = (node: string, other: string): string =>
  node < other ? `${node} ${other}` : `${other} ${node}`
