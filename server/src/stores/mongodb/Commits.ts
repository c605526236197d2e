// The commits of shards. The shard's document is the commit point: one update raises its number, stores what the commit
// intends (Intent.ts), and adds the tally of the commit before. It matches only if the document is as the last applied
// commit left it. So a commit cannot pass an earlier one that is not applied, nor a claim. Then the intent is applied
// (Application.ts), and only then the caller is answered. What a killed owner leaves is applied by the next claim.
import { randomUUID } from "node:crypto"
import type { Commands, Document } from "@punctual/documents/mongodb/Commands"
import type { Timer } from "../../domain/Timer.ts"
import type { Commit, CommitAnswer, Inserted } from "../../ports/ShardStorage.ts"
import { insertionsOf } from "../insertions.ts"
import { sortedOut } from "../whyUnstorable.ts"
import { applyIntent, updateOf } from "./Application.ts"
import { type Intent, intendedChange, stampOf, stampOfForeign, tallyOf } from "./Intent.ts"
import { mostRounds } from "./limits.ts"
import { timerDocument } from "./rows.ts"

/** The document of a shard is missing, so the store was removed. */
export class ShardMissing extends Error {}

/** A commit that is applied. Its tally is not yet added to the shard's. */
interface Applied {
  readonly epoch: number
  readonly number: number
  readonly intent?: Pick<Intent, "id" | "tally">
  readonly atMs: number
}

/** After this time without another commit, the tally of the last one is added and its intent removed. */
const idleMs = 60_000

/** How many numbers of lives a process reserves at once. */
const entriesReserved = 10_000

export class Commits {
  readonly #commands: Commands
  /** By shard. */
  readonly #applied = new Map<number, Applied>()
  #entries = { next: 0, exclusiveEnd: 0 }

  constructor(commands: Commands) {
    this.#commands = commands
  }

  async commit(commit: Commit): Promise<CommitAnswer> {
    const { shard, epoch, number } = commit
    const { intent, intended, places, refused } = await this.#intentOf(commit)
    for (let round = 0; round < mostRounds; round++) {
      const before = this.#appliedUnder(shard, epoch) ?? (await this.settle(shard))
      this.#applied.delete(shard)
      if (before.epoch !== epoch) return { result: "ownershipLost" }
      if (before.number >= number) return { result: "overtaken" }
      if (await this.#isCommitted(shard, before, number, intent)) {
        const executed = await applyIntent(this.#commands, shard, intent)
        const tally = tallyOf(intended, (index) => executed[index] === true)
        const missed = places.filter((_, index) => executed[index] !== true)
        if (missed.length > 0) await this.#markApplied(shard, intent.id, tally)
        this.#applied.set(shard, { epoch, number, intent: { id: intent.id, tally }, atMs: performance.now() })
        return { result: "committed", missed, refused }
      }
    }
    throw new Error(`the shard's document changed ${mostRounds} times before the commit`)
  }

  /**
   * Applies the last commit of the shard, whoever wrote it, and adds its tally. Repeating it is harmless, and so is
   * doing it in two processes at once.
   */
  async settle(shard: number): Promise<Applied> {
    const { epoch, number, intent } = await this.#read(shard)
    const settled = { epoch, number, atMs: performance.now() }
    if (intent === undefined) return settled
    const { id, changes } = intent
    const executed = await applyIntent(this.#commands, shard, intent)
    const tally = changes === undefined ? intent.tally : tallyOf(changes, (index) => executed[index] === true)
    await this.#addTally(shard, { id, tally })
    return settled
  }

  /**
   * Removes intents of shards that are idle. If such an intent were applied again long after, the traces that make this
   * harmless would be gone.
   */
  async settleIdle(): Promise<void> {
    for (const [shard, applied] of this.#applied) {
      const { intent, ...rest } = applied
      if (intent === undefined || performance.now() - applied.atMs < idleMs) continue
      await this.#addTally(shard, intent)
      if (this.#applied.get(shard) === applied) this.#applied.set(shard, rest)
    }
  }

  /** Applies the last commit of the shard, for a reader that found it half applied. */
  async help(shard: number): Promise<void> {
    const { intent } = await this.#read(shard)
    if (intent !== undefined) await applyIntent(this.#commands, shard, intent)
  }

  /**
   * Stores timers without a fence. `foreign` marks them until the shard's counter is raised. If this process dies in
   * between, the owner finds the mark with its next renewal.
   */
  async insertNew(shard: number, timers: ReadonlyArray<Timer>): Promise<ReadonlyArray<Inserted>> {
    const { answers, asked } = insertionsOf(shard, timers)
    const fresh = asked.flatMap(({ index }) => timers[index] ?? []).map((timer) => foreignKey(shard, timer))
    const used = await this.#commands.insert("keys", fresh)
    const stored = new Set(fresh.filter((_, place) => !used.has(place)).map(({ _id }) => _id))
    for (const place of used) {
      const { _id, stamp: _, ...set } = fresh[place] ?? {}
      // Only the trace of an ended key has no namespace. It keeps its stamp.
      const q = { _id, namespace: { $exists: false } }
      const unset = ["gone", "missed", "wrote", "removed"]
      if ((await this.#commands.update("keys", [{ q, u: updateOf(set, unset) }])) === 1) stored.add(_id)
    }
    if (stored.size > 0) await this.#countForeign(shard, [...stored], stored.size)
    for (const { change, index } of asked) if (stored.has(change.key.uuid)) answers[index] = "stored"
    return answers
  }

  /** Finishes inserts whose process died before it raised the counter of the shard. */
  async finishForeign(shards: ReadonlyArray<number>): Promise<void> {
    const filter = { foreign: true, shard: { $in: shards } }
    const left = await this.#commands.find("keys", filter, { limit: 1_000, projection: { shard: 1 } })
    for (const shard of new Set(left.map((key) => key["shard"]))) {
      const keys = left.filter((key) => key["shard"] === shard).map(({ _id }) => _id)
      await this.#countForeign(shard, keys, 0)
    }
  }

  async #countForeign(shard: number, keys: ReadonlyArray<string>, created: number): Promise<void> {
    const counted = { $inc: { foreign: 1, foreign_created: created } }
    await this.#commands.update("leases", [{ q: { _id: shard }, u: counted }])
    const q = { _id: { $in: keys }, foreign: true }
    await this.#commands.update("keys", [{ q, u: { $unset: { foreign: "" } }, multi: true }])
  }

  #appliedUnder(shard: number, epoch: number): Applied | undefined {
    const applied = this.#applied.get(shard)
    return applied?.epoch === epoch ? applied : undefined
  }

  async #isCommitted(shard: number, before: Applied, number: number, intent: Intent): Promise<boolean> {
    const { epoch, number: last, intent: lastIntent } = before
    const query = { _id: shard, epoch, number: last, "intent.id": lastIntent?.id ?? { $exists: false } }
    const update = {
      $set: { number, intent },
      ...(lastIntent === undefined ? {} : { $inc: incremented(lastIntent.tally) }),
    }
    const changed = await this.#commands.change("shards", query, update, { fields: { _id: 1 } })
    if (changed !== undefined) return true
    // If the command was sent twice, it did not match its own result.
    const { intent: there } = await this.#read(shard, { "intent.id": 1 })
    return there?.id === intent.id
  }

  async #read(shard: number, projection?: Document) {
    const found = await this.#commands.findOne("shards", { _id: shard }, projection)
    if (found === undefined) throw new ShardMissing(`the document of shard ${shard} is missing`)
    return found as { readonly epoch: number; readonly number: number; readonly intent?: Intent }
  }

  async #addTally(shard: number, { id, tally }: Pick<Intent, "id" | "tally">): Promise<void> {
    const u = { $inc: incremented(tally), $unset: { intent: "" } }
    await this.#commands.update("shards", [{ q: { _id: shard, "intent.id": id }, u }])
  }

  /**
   * A change that missed must not be tried again: when its trace is gone, it could be executed. The commit is applied
   * in full, so only its tally is left to add.
   */
  async #markApplied(shard: number, id: string, tally: Intent["tally"]): Promise<void> {
    const u = { $set: { "intent.tally": tally }, $unset: { "intent.changes": "" } }
    await this.#commands.update("shards", [{ q: { _id: shard, "intent.id": id }, u }])
  }

  async #intentOf({ epoch, number, changes }: Commit) {
    const { asked, refused } = sortedOut(changes)
    await this.#reserveEntries(asked.length)
    const intended = asked.map(({ change }) => intendedChange(change, () => this.#entries.next++))
    const stamp = stampOf(epoch, number)
    const intent: Intent = { id: randomUUID(), stamp, tally: tallyOf(intended), changes: intended }
    return { intent, intended, places: asked.map(({ index }) => index), refused }
  }

  /** Lives are numbered in the order in which a process stores them. A process reserves many numbers at once. */
  async #reserveEntries(most: number): Promise<void> {
    if (this.#entries.next + most <= this.#entries.exclusiveEnd) return
    const update = { $inc: { exclusive_end: entriesReserved } }
    const reserved = await this.#commands.change("meta", { _id: "entries" }, update, { upsert: true })
    const exclusiveEnd: number = reserved?.["exclusive_end"]
    this.#entries = { next: exclusiveEnd - entriesReserved, exclusiveEnd }
  }
}

const incremented = (tally: Intent["tally"]): Document =>
  Object.fromEntries(Object.entries(tally).map(([name, count]) => [`tally.${name}`, count]))

const foreignKey = (shard: number, timer: Timer): Document => ({
  _id: timer.uuid,
  shard,
  namespace: timer.namespace,
  timer_id: timer.timerId,
  stamp: stampOfForeign,
  foreign: true,
  pending: true,
  ...timerDocument(timer),
  ...(timer.payload === undefined ? {} : { payload: timer.payload }),
})
