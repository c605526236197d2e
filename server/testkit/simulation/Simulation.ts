// Runs one world from one seed, from the start to the verdict.
import { makeMemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import { HistoryRecorder } from "../History.ts"
import { Operators } from "./Operators.ts"
import { type Scenario, scenarioOf } from "./Scenario.ts"
import { SimNode } from "./SimNode.ts"
import { SimPeers } from "./SimPeers.ts"
import { slowestUs } from "./SimStore.ts"
import { Targets } from "./Targets.ts"
import { Troubles } from "./Troubles.ts"
import { judgeCluster, judgeHistory, judgeLiveness, judgeSweep, type VerdictParts } from "./Verdict.ts"
import { Watch } from "./Watch.ts"
import { Workload } from "./Workload.ts"
import { World } from "./World.ts"

export interface SimulationResult {
  readonly seed: number
  readonly scenario: Scenario
  /** `steps` and `traceHash` are the same for every run of a seed. */
  readonly steps: number
  readonly traceHash: string
  readonly simulatedMs: number
  readonly troubles: number
  readonly asks: number
  readonly firings: number
  /** The broken promises. A good run has none. */
  readonly violations: ReadonlyArray<string>
  /** Lines for people, if the caller asked for them. */
  readonly trace: ReadonlyArray<string>
}

export interface SimulationOptions {
  readonly isTraced?: boolean
}

/** By then, calls that were slow at the end of the troubles have ended. */
const lastCallsUs = slowestUs
/** Counted from the end of all troubles. */
const livelyWithinUs = 10_000_000

export const simulate = (seed: number, options: SimulationOptions = {}): SimulationResult => {
  const world = new World(seed, { isTraced: options.isTraced ?? false })
  const scenario = scenarioOf(world.chance("scenario"))
  const { parts, troubles, operators, workload } = assemble(world, scenario)
  const { watch } = parts
  try {
    for (const node of parts.nodes) node.start()
    troubles.begin()
    operators.begin()
    workload.begin()
    const troubledUs = scenario.troubledMs * 1_000
    world.runUntil(troubledUs + lastCallsUs + livelyWithinUs)
    if (world.whyStopped === undefined) judgeLiveness(parts, troubledUs)
    world.runUntil(troubledUs + scenario.calmMs * 1_000)
    if (world.whyStopped === undefined) {
      judgeCluster(parts)
      judgeSweep(parts)
      judgeHistory(parts)
    }
  } catch (error) {
    world.stop(`the simulation itself broke: ${error instanceof Error ? error.stack : String(error)}`)
  }
  const broken = watch.violations.map(({ promised, message }) => `${promised}: ${message}`)
  return {
    seed,
    scenario,
    steps: world.steps,
    traceHash: world.trace.hash,
    simulatedMs: world.nowMs,
    troubles: troubles.count,
    asks: workload.asks,
    firings: watch.firings,
    violations: broken.length === 0 && world.whyStopped !== undefined ? [world.whyStopped] : broken,
    trace: world.trace.lines,
  }
}

interface Assembled {
  readonly parts: VerdictParts
  readonly troubles: Troubles
  readonly operators: Operators
  readonly workload: Workload
}

const assemble = (world: World, scenario: Scenario): Assembled => {
  const database = makeMemoryDatabase({ shards: scenario.shards })
  const recorder = new HistoryRecorder(() => world.nowMs)
  const nodes: Array<SimNode> = []
  const watch = new Watch({
    world,
    scenario,
    database,
    recorder,
    nodeOf: (process) => nodes.find((node) => node.process === process),
  })
  const tempers = new Map(scenario.tenants.map(({ namespace, temper }) => [namespace, temper]))
  const targets = new Targets({
    chance: world.chance("targets"),
    recorder,
    witness: watch,
    temperOf: (namespace) => tempers.get(namespace) ?? "calm",
    areWell: () => world.nowMs >= scenario.troubledMs,
  })
  const peers = new SimPeers(world, (address) => nodes.find(({ name }) => name === address)?.reachable)
  for (let index = 1; index <= scenario.nodes; index++) {
    nodes.push(
      new SimNode(`n${index}`, { world, scenario, database, witness: watch, targets, recorder, peers }),
    )
  }
  const troubles = new Troubles({ world, scenario, nodes, peers })
  const operators = new Operators({ world, scenario, database, nodes, pauses: watch.pauses })
  const workload = new Workload({ world, scenario, nodes, recorder, watch })
  return { parts: { world, scenario, database, nodes, recorder, watch }, troubles, operators, workload }
}
