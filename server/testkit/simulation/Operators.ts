// Operators who pause and resume firing, for one namespace or for all, through any node. A request of theirs may be
// lost, may be done late, or may be done without an answer. An operator repeats a resume until a node answers. When the
// troubles end, the operators resume everything.
import { Context, Effect, Exit } from "effect"
import { editSettings, pauseService, resumeService } from "../../src/domain/editSettings.ts"
import { NamespaceDirectory } from "../../src/engine/namespaces/NamespaceDirectory.ts"
import { type SettingsRecord, serviceRecord } from "../../src/engine/namespaces/SettingsRecords.ts"
import type { MemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import { setIn, settingsIn } from "../memorySettings.ts"
import type { Chance } from "./Chance.ts"
import type { PauseWatch } from "./PauseWatch.ts"
import type { Scenario } from "./Scenario.ts"
import { startMs } from "./SimClock.ts"
import type { SimNode } from "./SimNode.ts"
import type { World } from "./World.ts"

export interface OperatorsParts {
  readonly world: World
  readonly scenario: Scenario
  readonly database: MemoryDatabase
  readonly nodes: ReadonlyArray<SimNode>
  readonly pauses: PauseWatch
}

/** The average time between two visits. */
const visitEveryMs = 4_000
const askAgainAfterMs = 1_000

type Settings = SettingsRecord["settings"]

export class Operators {
  readonly #parts: OperatorsParts
  readonly #chance: Chance
  /**
   * What is paused, as the operators see it, and which visit paused it. Work left over from an earlier visit changes
   * nothing.
   */
  readonly #stopped = new Map<string, number>()
  #visits = 0
  #areGone = false

  constructor(parts: OperatorsParts) {
    this.#parts = parts
    this.#chance = parts.world.chance("operators")
  }

  begin(): void {
    const { world, scenario } = this.#parts
    if (!scenario.hasOperators) return
    this.#expectVisit()
    world.afterMs(scenario.troubledMs, () => this.#leave())
  }

  #expectVisit(): void {
    this.#parts.world.afterMs(this.#chance.between(1, 2 * visitEveryMs), () => {
      if (this.#areGone) return
      const { tenants } = this.#parts.scenario
      const tenant = tenants[this.#chance.below(tenants.length)]
      const name = this.#chance.happens(0.25) ? serviceRecord : (tenant?.namespace ?? serviceRecord)
      if (!this.#stopped.has(name)) this.#stop(name, this.#chance.skewed(100, 12_000))
      this.#expectVisit()
    })
  }

  #stop(name: string, forMs: number): void {
    const { world, pauses } = this.#parts
    const visit = ++this.#visits
    this.#stopped.set(name, visit)
    pauses.stopping(name)
    world.trace.note("operators", () => `stop ${name} for ${forMs} ms`)
    this.#ask(name, visit, stopped, ({ version }, node) => pauses.stopped(name, version, node.name))
    world.afterMs(forMs, () => {
      // From now on, a pause that is still on its way has no effect.
      this.#stopped.set(name, ++this.#visits)
      this.#resume(name, this.#visits)
    })
  }

  #resume(name: string, visit: number): void {
    const { world, pauses } = this.#parts
    if (this.#stopped.get(name) !== visit || this.#areGone) return
    world.trace.note("operators", () => `resume ${name}`)
    this.#ask(name, visit, resumed, () => {
      this.#stopped.delete(name)
      pauses.resumed(name)
    })
    world.afterMs(askAgainAfterMs, () => this.#resume(name, visit))
  }

  #ask(
    name: string,
    visit: number,
    edit: (name: string, settings: Settings, nowMs: number) => Settings,
    onAnswer: (record: SettingsRecord, node: SimNode) => void,
  ): void {
    const { nodes } = this.#parts
    const node = nodes[this.#chance.below(nodes.length)]
    const { process, services } = node ?? {}
    if (node === undefined || process === undefined || services === undefined) return
    const isMeant = () => this.#stopped.get(name) === visit && !this.#areGone
    process.post(() => {
      const nowMs = node.clock.wallMs()
      const change = Context.get(services, NamespaceDirectory).change(name, nowMs, (settings) =>
        Effect.sync(() => (isMeant() ? edit(name, settings, nowMs) : settings)),
      )
      process.run(change).addObserver((exit) => {
        if (Exit.isSuccess(exit) && isMeant()) onAnswer(exit.value, node)
      })
    })
  }

  /** Resumes everything with direct access to the store. */
  #leave(): void {
    const { database, scenario, world, pauses } = this.#parts
    this.#areGone = true
    for (const name of [serviceRecord, ...scenario.tenants.map(({ namespace }) => namespace)]) {
      const nowMs = Math.floor(startMs + world.nowMs)
      setIn(database, name, resumed(name, settingsIn(database, name).settings, nowMs), nowMs)
      pauses.resumed(name)
    }
  }
}

// These functions always return a new object, so the store writes a new version. A write that is still on its way then
// fails, because it names an older version.

const stopped = (name: string, settings: Settings, nowMs: number): Settings =>
  name === serviceRecord
    ? { ...pauseService(settings, undefined, nowMs) }
    : { ...editSettings(settings, { paused: true }, nowMs) }

const resumed = (name: string, settings: Settings, nowMs: number): Settings =>
  name === serviceRecord
    ? { ...resumeService(settings, nowMs) }
    : { ...editSettings(settings, { paused: false }, nowMs) }
