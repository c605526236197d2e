// Knows which pauses operators have set and had confirmed, and judges whether an attempt may start in spite of them. A
// pause is identified by the name of its settings: the name of a namespace, or the name of the service.
import { serviceRecord, settingsKind } from "../../src/engine/namespaces/SettingsRecords.ts"
import type { MemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import type { SimNode } from "./SimNode.ts"
import type { World } from "./World.ts"

interface Stop {
  readonly version: number
  readonly atUs: number
  readonly node: string
}

/** Within this time, every healthy node knows a setting that another node stored. */
const knownWithinUs = 1_000_000
/**
 * The node that stores a pause knows it at once. An attempt that began just before the pause may appear just after it.
 */
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

  /** An operator asks for a pause. The result is not known yet. */
  stopping(name: string): void {
    this.#mayLastUntilUs.set(name, Number.POSITIVE_INFINITY)
  }

  /** A node has answered that the name is paused, under this version of its settings. */
  stopped(name: string, version: number, node: string): void {
    this.#stops.set(name, { version, atUs: this.#world.nowUs, node })
  }

  /** The name is resumed. All nodes know this soon. */
  resumed(name: string): void {
    this.#mayLastUntilUs.set(name, this.#world.nowUs + knownWithinUs)
    this.#stops.delete(name)
  }

  /** Whether the namespace may have been paused after that instant. */
  mayHaveRested(namespace: string, sinceUs: number): boolean {
    return [namespace, serviceRecord].some((name) => (this.#mayLastUntilUs.get(name) ?? 0) > sinceUs)
  }

  /**
   * Names the pause that forbids the node to start an attempt of the namespace, if there is one. The pause was set on
   * this node, or before the node started, or long enough ago for the node to know it.
   */
  forbids(node: SimNode, namespace: string): string | undefined {
    const [world, database] = [this.#world, this.#database]
    return [namespace, serviceRecord].find((name) => {
      const stop = this.#stops.get(name)
      // A later version of the settings may have resumed the name.
      if (stop === undefined || database.documents.get(settingsKind, name)?.version !== stop.version)
        return false
      if (node.startedUs > stop.atUs) return true
      const withinUs = node.name === stop.node ? comesUpWithinUs : knownWithinUs
      return world.nowUs - stop.atUs > withinUs && node.isWellSince(world.nowUs - withinUs)
    })
  }
}
