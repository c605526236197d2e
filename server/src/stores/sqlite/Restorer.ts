// Puts what an archive holds into the writer's database, item by item: domain/decideRestore.ts decides, and each item
// stands or falls alone. Nobody waits for it, so it need not be as quick as a write.
import type { Database, Statement } from "bun:sqlite"
import { emptyTally, type Tally } from "../../domain/decide.ts"
import {
  type ArchivedItem,
  decideRestore,
  type KnownToRestore,
  keyOfArchived,
  type RestoreResult,
  whyTooLarge,
} from "../../domain/decideRestore.ts"
import type { RestoreAnswer, RestoreBatch } from "../../ports/TimerArchive.ts"
import { textOfSpec } from "../SpecText.ts"
import { describe, isOfItem } from "./failures.ts"
import { limits } from "./limits.ts"
import { changingValues, dashed, lifeValues } from "./rows.ts"
import { writerSql } from "./statements.ts"
import type { Writer } from "./Writer.ts"

const statementsUsed = [
  "epoch",
  "probe",
  "head",
  "endedArming",
  "deadArming",
  "insertTimer",
  "insertBody",
  "insertEnded",
  "insertDead",
  "tally",
] as const

type Statements = { readonly [name in (typeof statementsUsed)[number]]: Statement }

export class Restorer {
  readonly #database: Database
  readonly #writer: Writer
  readonly #sql: Statements

  constructor(database: Database, writer: Writer) {
    this.#database = database
    this.#writer = writer
    // `Object.fromEntries` forgets its keys.
    this.#sql = Object.fromEntries(
      statementsUsed.map((name) => [name, database.prepare(writerSql[name])]),
    ) as unknown as Statements
  }

  restore(batches: ReadonlyArray<RestoreBatch>): ReadonlyArray<RestoreAnswer> {
    return this.#writer.transaction(() =>
      batches.map(({ shard, epoch, items }): RestoreAnswer => {
        const row = this.#sql.epoch.get(shard) as { epoch: number } | null
        if (row?.epoch !== epoch) return { result: "ownershipLost" }
        return { result: "restored", results: items.map((item) => this.#restoreAlone(shard, item)) }
      }),
    )
  }

  #restoreAlone(shard: number, item: ArchivedItem): RestoreResult {
    const tooLarge = whyTooLarge(item, limits.itemBytes)
    if (tooLarge !== undefined) return tooLarge
    this.#database.run("SAVEPOINT item")
    try {
      return this.#restore(shard, item)
    } catch (error) {
      if (!isOfItem(error)) throw error
      this.#database.run("ROLLBACK TO item")
      return { result: "unstorable", reason: describe(error) }
    } finally {
      if (this.#database.inTransaction) this.#database.run("RELEASE item")
    }
  }

  #restore(shard: number, item: ArchivedItem): RestoreResult {
    const { result, tally } = decideRestore(item, this.#known(item))
    if (tally === undefined) return { result }
    if (item.kind === "pending") {
      const { timer } = item
      const { uuid, namespace, timerId } = timer
      this.#sql.insertTimer.run(shard, uuid, namespace, timerId, ...changingValues(timer))
      this.#sql.insertBody.run(textOfSpec(timer.spec), timer.payload ?? null)
    } else {
      const { life } = item
      if (life.state !== "dead") this.#sql.insertEnded.run(...lifeValues(life), life.state, null)
      else this.#sql.insertDead.run(...lifeValues(life), life.reason ?? null, life.payload ?? null)
    }
    this.#count(shard, { ...emptyTally, ...tally })
    return { result }
  }

  #known(item: ArchivedItem): KnownToRestore {
    const { namespace, timerId, fireId, revision } = keyOfArchived(item)
    const probe = this.#sql.probe.get(namespace, timerId) as {
      pending: number | null
      ended: number | null
      dead: number | null
    }
    const head =
      probe.pending === null ? null : (this.#sql.head.get(namespace, timerId) as { fire_id: string })
    const hasLives = probe.ended !== null || probe.dead !== null
    const arming = [namespace, timerId, revision, fireId] as const
    return {
      pending: head === null ? undefined : { fireId: dashed(head.fire_id) },
      lastRevision: hasLives ? Math.max(probe.ended ?? -1, probe.dead ?? -1) : undefined,
      hasEnded:
        hasLives && (this.#sql.endedArming.get(...arming) ?? this.#sql.deadArming.get(...arming)) !== null,
    }
  }

  #count(shard: number, tally: Tally): void {
    const { created, rearmed, replayed, delivered, cancelled, replaced, dead, discarded } = tally
    this.#sql.tally.run(shard, created, rearmed, replayed, delivered, cancelled, replaced, dead, discarded)
  }
}
