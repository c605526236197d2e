// Knows what operators have paused and been told so, and judges whether an attempt may start in spite of it. Pauses go
// by the names that their settings have: that of a namespace, or that of the service.
import { serviceRecord, settingsKind } from "../../src/engine/namespaces/SettingsRecords.ts"
import type { MemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import type { SimNode } from "./SimNode.ts"
import type { World } from "./World.ts"

interface Stop {
  readonly version: number
  readonly atUs: number
  readonly node: string
}

/** Within which every node that is well knows what was set by another. */
const knownWithinUs = 1_000_000
/** Where it was set it is known at once; an attempt that was begun just before may come up just after. */
const comesUpWithinUs = 50_000

export class PauseWatch {
  readonly #world: World
  readonly #database: MemoryDatabase
  readonly #stops = new Map<string, Stop>()
  readonly #mayLastUntilUs = new Map<string, number>()

  constructor(world: World, database: MemoryDatabase) {
    this.#world = world
    this.#database = database
  }

  /** Someone asks for a pause, whatever comes of it. */
  stopping(name: string): void {
    this.#mayLastUntilUs.set(name, Number.POSITIVE_INFINITY)
  }

  /** A node has answered that it is paused, under this version of its settings. */
  stopped(name: string, version: number, node: string): void {
    this.#stops.set(name, { version, atUs: this.#world.nowUs, node })
  }

  /** It is resumed, and all nodes know soon. */
  resumed(name: string): void {
    this.#mayLastUntilUs.set(name, this.#world.nowUs + knownWithinUs)
    this.#stops.delete(name)
  }

  /** Whether the namespace may have been paused after that instant. */
  mayHaveRested(namespace: string, sinceUs: number): boolean {
    return [namespace, serviceRecord].some((name) => (this.#mayLastUntilUs.get(name) ?? 0) > sinceUs)
  }

  /**
   * What forbids the node to start an attempt of the namespace, if anything does: a pause that was set there, or before
   * the node started, or long enough ago for it to know.
   */
  forbids(node: SimNode, namespace: string): string | undefined {
    const [world, database] = [this.#world, this.#database]
    return [namespace, serviceRecord].find((name) => {
      const stop = this.#stops.get(name)
      // What was stored since may have resumed it.
      if (stop === undefined || database.documents.get(settingsKind, name)?.version !== stop.version)
        return false
      if (node.startedUs > stop.atUs) return true
      const withinUs = node.name === stop.node ? comesUpWithinUs : knownWithinUs
      return world.nowUs - stop.atUs > withinUs && node.isWellSince(world.nowUs - withinUs)
    })
  }
}
