// What only a whole run can show: after the troubles, every due timer was attempted, nothing was lost, repeated or
// altered, and the cluster is complete again.
import { Context } from "effect"
import { beginning } from "../../src/domain/DueOrder.ts"
import { Engine } from "../../src/engine/Engine.ts"
import type { MemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import type { HistoryRecorder, StoreContents, StoredLife, StoredPending } from "../History.ts"
import { checkInvariants } from "../InvariantChecker.ts"
import { tellsOfDeath } from "./DeathWatch.ts"
import type { Scenario } from "./Scenario.ts"
import { startMs } from "./SimClock.ts"
import type { SimNode } from "./SimNode.ts"
import { sinceStart } from "./Trace.ts"
import type { Watch } from "./Watch.ts"
import type { World } from "./World.ts"

export interface VerdictParts {
  readonly world: World
  readonly scenario: Scenario
  readonly database: MemoryDatabase
  readonly nodes: ReadonlyArray<SimNode>
  readonly recorder: HistoryRecorder
  readonly watch: Watch
}

/** Every timer that was due by then has been attempted. Call this some time after the troubles. */
export const judgeLiveness = (parts: VerdictParts, dueByUs: number): void => {
  const { database, watch } = parts
  const inclusiveUntilMs = Math.floor(startMs + dueByUs / 1_000)
  for (const shard of database.shards.keys()) {
    for (const timer of database.due({ shard, exclusiveAfter: beginning, inclusiveUntilMs, limit: 1 })) {
      if (watch.isRunning(timer.fireId)) continue
      const { namespace, timerId, fireAt, attempts } = timer
      const message = `${namespace}/${timerId}, due ${sinceStart(fireAt)} after ${attempts} attempts, still waits in shard ${shard}`
      watch.broken("liveness", message)
      return
    }
  }
}

/** The cluster is complete: each shard has one owner, each node has its share, and no loop is stalled. */
export const judgeCluster = ({ nodes, scenario, watch }: VerdictParts): void => {
  const statuses = nodes.flatMap(({ name, services }) =>
    services === undefined ? [] : [{ name, ...Context.get(services, Engine).status() }],
  )
  const owned = statuses.map(({ ownedShards }) => ownedShards)
  const stalled = statuses.filter(({ stalledLoops }) => stalledLoops.length > 0)
  if (statuses.length < scenario.nodes) watch.broken("liveness", "a node does not run")
  if (owned.reduce((sum, count) => sum + count, 0) !== scenario.shards)
    watch.broken("liveness", `${scenario.shards} shards are owned as ${owned.join(" + ")}`)
  if (Math.max(...owned) - Math.min(...owned) > 1)
    watch.broken("liveness", `shards are spread unevenly: ${owned.join(", ")}`)
  for (const { name, stalledLoops } of stalled)
    watch.broken("liveness", `${name} has stalled loops: ${stalledLoops.join(", ")}`)
}

/**
 * The sweep may find only timers that were inserted without their owner's knowledge. Any other timer that it finds was
 * lost by a window. A node that has lost a shard without knowing it finds timers of the next owner, but does not fire
 * them.
 */
export const judgeSweep = ({ nodes, watch }: VerdictParts): void => {
  const faithful = nodes.filter((node) => node.counter("timer_ownership_changes_total", "lost") === 0)
  const rescued = faithful.reduce((sum, node) => sum + node.counter("timer_sweep_rescued_total"), 0)
  if (rescued > watch.foreignInserts)
    watch.broken("horizon", `the sweep found ${rescued} timers, ${watch.foreignInserts} were inserted`)
}

/** Every timer that was due this long before the end has had its attempts. */
const settlingMs = 12_000

/** Compares the history with the promises of the product. */
export const judgeHistory = ({ world, database, scenario, recorder, watch }: VerdictParts): void => {
  const violations = checkInvariants({
    events: recorder.events,
    final: { ...contentsOf(database, scenario), tally: watch.deaths.tally },
    dueUntilMs: startMs + world.nowMs - settlingMs,
  })
  for (const { invariant, message } of violations) {
    // A retry counts from the end of the attempt before it, also on a clock that was set back. The watch checks this.
    if (invariant === "neverEarly" && scenario.troubles.includes("clockJump")) continue
    watch.broken("history", `${invariant}: ${message}`)
  }
}

/** What clients know of. */
const contentsOf = (
  database: MemoryDatabase,
  { tenants }: Scenario,
): Pick<StoreContents, "pending" | "finished"> => {
  const pending: Array<StoredPending> = []
  const finished: Array<StoredLife> = []
  for (const { namespace } of tenants) {
    const index = database.index(namespace)
    for (const { timer } of index.pendingByDue.upFrom(() => true)) {
      if (tellsOfDeath(timer)) continue
      const { timerId, fireId, revision, fireAt, payload } = timer
      pending.push({
        key: { namespace, timerId },
        fireId,
        revision,
        fireAtMs: fireAt,
        ...(payload === undefined ? {} : { payload }),
      })
    }
    for (const { byTime } of Object.values(index.ended)) {
      for (const { life } of byTime.upFrom(() => true)) {
        if (tellsOfDeath(life)) continue
        const { timerId, fireId, revision, state } = life
        finished.push({ key: { namespace, timerId }, fireId, revision, state })
      }
    }
  }
  return { pending, finished }
}
