// Examines a store: counts by shard with the stored sums, overdue timers and dead letters, and decodes every row. It
// reads shard by shard, while services may run, so the counts of a shard are of one moment and those of two are not.
import { readChanges } from "@punctual/documents/cassandra/cassandraDocuments"
import { settingsKind } from "../../engine/namespaces/SettingsRecords.ts"
import type { ExamineOptions, ShardReport, StoreReport } from "../../ports/StoreReport.ts"
import { SettingsExamination } from "../SettingsExamination.ts"
import { StoreCounts } from "../StoreCounts.ts"
import { livesIn, pendingIn, rowsOf } from "./CassandraArchive.ts"
import { clockOffset } from "./CassandraStore.ts"
import { Fences } from "./Fences.ts"
import { Keys } from "./Keys.ts"
import { Leases } from "./Leases.ts"
import { kinds } from "./places.ts"
import type { BatchSession } from "./Session.ts"
import { programVersion } from "./schema.ts"

export const examineStore = async (
  session: BatchSession,
  shards: number,
  options: ExamineOptions,
  nowMs: () => number,
): Promise<StoreReport> => {
  const clockOffsetMs = await clockOffset(session, nowMs)
  const settings = new SettingsExamination()
  while (
    settings.take(await readChanges(session, settingsKind, settings.version, SettingsExamination.pageItems))
  ) {}
  const overdueBeforeMs =
    settings.found.pause === undefined ? options.overdueBeforeMs : options.overdueBeforeMsIfPaused
  const counts = new StoreCounts(overdueBeforeMs)
  const keys = new Keys(session, shards)
  const fences = new Fences(session)
  const owners = await new Leases(session, fences).owners()
  const reports: Array<ShardReport> = []
  for (let shard = 0; shard < shards; shard++) {
    const rows = await countShard(session, keys, shard, counts)
    const { epoch, tally } = await fences.read(shard)
    const node = owners[shard]?.node
    reports.push({ shard, epoch, ...(node === undefined ? {} : { node }), tally, rows })
  }
  return {
    store: "cassandra",
    schemaVersion: programVersion,
    programVersion,
    shards: reports,
    // A node knows only the sizes of its own copies.
    sizes: [],
    overdue: { count: counts.overdue, worst: counts.worst },
    deadByNamespace: counts.deadByNamespace,
    integrity: "notChecked",
    faults: [...counts.timers.faults, ...counts.lives.faults],
    targets: counts.timers.targets,
    clockOffsetMs,
    ...settings.found,
    unreadable: [...settings.found.unreadable, ...counts.timers.found, ...counts.lives.found],
  }
}

const countShard = async (
  session: BatchSession,
  keys: Keys,
  shard: number,
  counts: StoreCounts,
): Promise<ShardReport["rows"]> => {
  const counted = { pending: 0, delivered: 0, cancelled: 0, dead: 0 }
  for await (const rows of rowsOf(session, shard, kinds.key)) {
    for (const timer of await keys.timersOf(pendingIn(rows), false)) {
      if (timer === undefined) continue
      counted.pending++
      counts.takeTimer(timer)
    }
  }
  for await (const rows of rowsOf(session, shard, kinds.life)) {
    for (const life of await keys.livesOf(livesIn(rows), false)) {
      counted[life.state]++
      counts.takeLife(life)
    }
  }
  return counted
}
