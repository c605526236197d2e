// The troubles of the cluster. Machines crash, freeze, drain and come back. Connections to the store and between
// machines are cut, slow or lossy. Wall clocks jump. Each trouble has an end, and at one instant all troubles end.
import type { Chance } from "./Chance.ts"
import type { Scenario, Trouble } from "./Scenario.ts"
import type { SimNode } from "./SimNode.ts"
import type { SimPeers } from "./SimPeers.ts"
import type { World } from "./World.ts"

export interface TroublesParts {
  readonly world: World
  readonly scenario: Scenario
  readonly nodes: ReadonlyArray<SimNode>
  readonly peers: SimPeers
}

export class Troubles {
  /** The number of troubles so far. */
  count = 0
  readonly #parts: TroublesParts
  readonly #chance: Chance
  #areOver = false

  constructor(parts: TroublesParts) {
    this.#parts = parts
    this.#chance = parts.world.chance("troubles")
  }

  begin(): void {
    const { world, scenario, nodes } = this.#parts
    if (scenario.troubles.length > 0) this.#expectNext()
    // Claims are rare among all calls. They are slow the whole time, because otherwise they would hardly ever meet an
    // owner that comes back.
    if (scenario.troubles.includes("storeSlow")) {
      for (const { link } of nodes) link.claimsSlowUntilUs = scenario.troubledMs * 1_000
    }
    world.afterMs(scenario.troubledMs, () => this.#end())
  }

  #expectNext(): void {
    const { world, scenario } = this.#parts
    world.afterMs(this.#chance.between(1, 2 * scenario.troubleEveryMs), () => {
      if (this.#areOver) return
      this.#strike()
      // Some troubles come together.
      if (this.#chance.happens(0.3)) this.#strike()
      this.#expectNext()
    })
  }

  #strike(): void {
    const { scenario, nodes } = this.#parts
    const trouble = scenario.troubles[this.#chance.below(scenario.troubles.length)]
    const node = nodes[this.#chance.below(nodes.length)]
    if (trouble !== undefined && node !== undefined) this.#inflict(trouble, node)
  }

  #inflict(trouble: Trouble, node: SimNode): void {
    const { world, peers } = this.#parts
    this.count++
    // Many troubles last about as long as a lease. At that moment the old owner meets the nodes that wait for the end
    // of its lease.
    const forMs = this.#chance.happens(0.3)
      ? this.#chance.between(3_500, 6_500)
      : this.#chance.skewed(50, 14_000)
    const untilUs = world.nowUs + forMs * 1_000
    world.trace.note("troubles", () => `${trouble} at ${node.name} for ${forMs} ms`)
    switch (trouble) {
      case "crash":
        node.crash()
        this.#later(forMs, () => node.start())
        return
      case "drain":
        node.drain(this.#chance.between(0, 5_000))
        this.#later(forMs + 6_000, () => {
          node.crash()
          node.start()
        })
        return
      case "pause":
        node.pause()
        this.#later(forMs, () => node.resume())
        return
      case "clockJump":
        node.setClock(this.#chance.oneOf([0, -40, 300, -2_000, 5_000, -60_000, 3_600_000]))
        return
      case "storeCut":
        node.link.cutUntilUs = untilUs
        break
      case "storeFlaky":
        node.link.flakyUntilUs = untilUs
        break
      case "storeSlow":
        node.link.slowUntilUs = untilUs
        break
      case "storeLate":
        node.link.lateUntilUs = untilUs
        break
      case "peersCut":
        peers.cut(node.name, this.#otherThan(node), untilUs)
        return
      case "peersFlaky":
        peers.flakyUntilUs = untilUs
        return
    }
    // Calls that were under way at the end of the trouble may need the same time again.
    node.noteTrouble(untilUs + 8_000_000)
  }

  #later(afterMs: number, run: () => void): void {
    this.#parts.world.afterMs(afterMs, () => {
      if (!this.#areOver) run()
    })
  }

  #otherThan(node: SimNode): string {
    const others = this.#parts.nodes.filter((other) => other !== node)
    return others[this.#chance.below(others.length)]?.name ?? node.name
  }

  /**
   * Ends all troubles: every machine runs, every connection is open, and every clock is right, except for its drift.
   */
  #end(): void {
    const { world, nodes, peers } = this.#parts
    this.#areOver = true
    world.trace.note("troubles", () => "are over")
    peers.heal()
    for (const node of nodes) {
      node.link.heal(world.nowUs)
      node.setClock(0)
      node.resume()
      // A node that drains stops for good. A supervisor starts it again.
      if (node.isLeaving) node.crash()
      node.start()
      node.wellSinceUs = world.nowUs
    }
  }
}
