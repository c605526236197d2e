// What befalls the cluster: machines crash, freeze, are drained and come back; ways to the store and between
// machines are cut, slow or lossy; wall clocks jump. Each trouble has an end, and all end together.
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
  /** How many there were. */
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
    // Claims are few among all calls: they are slow at any time, or they would hardly meet an owner that comes back.
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
      // Troubles like company.
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
    // Often about as long as a lease: there owners and those who wait for their end meet.
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
    // Calls that were under way when the trouble ended may take as long again.
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

  /** Every machine runs, every way is open, every clock is right, within what drift makes of it. */
  #end(): void {
    const { world, nodes, peers } = this.#parts
    this.#areOver = true
    world.trace.note("troubles", () => "are over")
    peers.heal()
    for (const node of nodes) {
      node.link.heal(world.nowUs)
      node.setClock(0)
      node.resume()
      // One that drains is stopped for good: a supervisor starts it anew.
      if (node.isLeaving) node.crash()
      node.start()
      node.wellSinceUs = world.nowUs
    }
  }
}
