// Watches a world while it runs, and stops it at the first broken promise. The trace ends there, close to the fault.
// Verdict.ts judges at the end what only a whole run can show.
import { Exit } from "effect"
import { beginning, isBefore } from "../../src/domain/DueOrder.ts"
import type { Timer } from "../../src/domain/Timer.ts"
import { keyOf, shardOf } from "../../src/domain/TimerKey.ts"
import { keyOfItem, type WriteAnswer, type WriteItem } from "../../src/domain/WriteItem.ts"
import type { Fire } from "../../src/ports/Deliverer.ts"
import type { Lease } from "../../src/ports/ShardLeases.ts"
import type { Commit, KeyChange } from "../../src/ports/ShardStorage.ts"
import type { DecidedChange } from "../../src/stores/keyChangeOf.ts"
import type { MemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import type { HistoryRecorder, Key } from "../History.ts"
import { DeathWatch, tellsOfDeath } from "./DeathWatch.ts"
import { PauseWatch } from "./PauseWatch.ts"
import type { Scenario } from "./Scenario.ts"
import type { SimNode } from "./SimNode.ts"
import type { SimProcess } from "./SimProcess.ts"
import type { Claimed, Committed, Inserted, StoreWitness } from "./SimStore.ts"
import type { AttemptWitness } from "./Targets.ts"
import { sinceStart } from "./Trace.ts"
import type { World } from "./World.ts"

export type Promised =
  | "fencing"
  | "neverEarly"
  | "horizon"
  | "definiteAnswers"
  | "isolation"
  | "order"
  | "idempotence"
  | "liveness"
  | "pause"
  | "deaths"
  | "history"

export interface WatchParts {
  readonly world: World
  readonly scenario: Scenario
  readonly database: MemoryDatabase
  readonly recorder: HistoryRecorder
  nodeOf(process: SimProcess): SimNode | undefined
}

interface Running {
  readonly process: SimProcess
  readonly epoch: number
  readonly key: Key
}

/** How late an attempt may start on a healthy node. */
const lateByAtMostMs = 250
/** A node that reads this many pages within this time reads more than the store holds. */
const pagesInACircle = 400
const circleUs = 1_000_000
/** The liveness limits apply to an owner only after this time without troubles. */
const settledInUs = 10_000_000
/** Within this time an owner must notice an insert by another node. It takes one lease renewal and one sweep. */
const foreignNoticedWithinUs = 3_000_000

export class Watch implements StoreWitness, AttemptWitness {
  firings = 0
  foreignInserts = 0
  readonly pauses: PauseWatch
  readonly deaths: DeathWatch
  readonly violations: Array<{ readonly promised: Promised; readonly message: string }> = []
  readonly #parts: WatchParts
  readonly #epochs: Array<number>
  readonly #ownedSinceUs: Array<number>
  readonly #running = new Map<string, Set<Running>>()
  /** Every arming that has ever had an attempt. */
  readonly #started = new Set<string>()
  readonly #reads = new Map<string, { sinceUs: number; firings: number; pages: number }>()
  readonly #armedAtUs = new Map<string, number>()
  readonly #foreign = new Set<string>()
  /** Keys that have client requests under way. */
  readonly #asked = new Map<string, number>()

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.pauses = new PauseWatch(parts.world, parts.database)
    this.deaths = new DeathWatch(parts.database)
    this.#epochs = parts.database.shards.map(({ epoch }) => epoch)
    this.#ownedSinceUs = parts.database.shards.map(() => 0)
  }

  broken(promised: Promised, message: string): void {
    const { world } = this.#parts
    this.violations.push({ promised, message })
    world.trace.note("watch", () => `${promised} is broken: ${message}`)
    world.stop(`${promised}: ${message}`)
  }

  isRunning(fireId: string): boolean {
    return this.#running.has(fireId)
  }

  /** Timers of the namespace whose attempts run now, except timers that clients only create. */
  runningIn(namespace: string): ReadonlyArray<string> {
    return [...this.#running.values()].flatMap((flights) =>
      [...flights].flatMap(({ key }) =>
        key.namespace === namespace && !isLeftAlone(key.timerId) ? [key.timerId] : [],
      ),
    )
  }

  /** Timers of the namespace that have dead letters now, the earliest first. */
  deadIn(namespace: string): ReadonlyArray<string> {
    return [...this.#parts.database.index(namespace).ended.dead.byTime.upFrom(() => true)].flatMap(
      ({ life: { timerId } }) => (isLeftAlone(timerId) ? [] : [timerId]),
    )
  }

  /** Notes that a client asks something of the key. The returned function ends that. */
  asking(uuid: string): () => void {
    this.#asked.set(uuid, (this.#asked.get(uuid) ?? 0) + 1)
    return () => this.#asked.set(uuid, (this.#asked.get(uuid) ?? 1) - 1)
  }

  // ── The store ─────────────────────────────────────────────────────────────────────────────────

  commit(node: string, commits: ReadonlyArray<Commit>, run: () => Committed): Committed {
    const { database, world } = this.#parts
    const before = commits.map(({ changes }) => changes.map(({ key }) => database.known(key)))
    const committed = run()
    if (Exit.isFailure(committed)) return committed
    for (const [place, commit] of commits.entries()) {
      const answered = committed.value[place]
      const current = database.shards[commit.shard]?.epoch
      if (answered?.result !== "committed") continue
      if (commit.epoch !== current) {
        const message = `${node} wrote to shard ${commit.shard} under epoch ${commit.epoch}, when ${current} had been granted`
        this.broken("fencing", message)
      }
      for (const [index, change] of commit.changes.entries()) {
        const known = before[place]?.[index]
        const { item, answer } = decidedOf(change)
        const isMissed = answered.missed.includes(index)
        world.trace.note(
          node,
          () =>
            `${isMissed ? "misses" : "writes"} ${itemName(item)}: ${answer.result} (shard ${commit.shard}, epoch ${commit.epoch})`,
        )
        if (known === undefined || isMissed) continue
        this.deaths.note(change.key, change.tally)
        const untold = this.deaths.whyUntold(item)
        if (untold !== undefined) this.broken("deaths", untold)
        this.#judgeAnswer(item, answer, known.pending, commit.epoch)
        this.#noteArming(item, answer, known)
      }
    }
    this.#checkEpochs()
    return committed
  }

  claim(node: string, expected: Lease, run: () => Claimed): Claimed {
    const { world, recorder } = this.#parts
    const before = this.#parts.database.shards[expected.shard]?.epoch ?? 0
    const claimed = run()
    if (Exit.isFailure(claimed) || claimed.value === undefined) return claimed
    const { epoch, shard } = claimed.value
    if (epoch <= before) this.broken("fencing", `shard ${shard} was claimed under ${epoch} after ${before}`)
    recorder.node("ownershipMoved", node)
    this.#ownedSinceUs[shard] = world.nowUs
    world.trace.note(node, () => `claims shard ${shard}, epoch ${epoch}`)
    this.#checkEpochs()
    return claimed
  }

  insert(node: string, shard: number, timers: ReadonlyArray<Timer>, run: () => Inserted): Inserted {
    const { world, database } = this.#parts
    const before = timers.map((timer) => database.known(timer))
    const inserted = run()
    if (Exit.isFailure(inserted)) return inserted
    for (const [place, timer] of timers.entries()) {
      const known = before[place]
      if (inserted.value[place] !== "stored") continue
      world.trace.note(node, () => `inserts ${timerName(timer)} (shard ${shard})`)
      if (this.#armedAtUs.has(timer.fireId))
        this.broken("idempotence", `${timerName(timer)} was inserted after it had been armed`)
      if (timer.timerId.startsWith(onceOnly) && known?.last !== undefined)
        this.broken("idempotence", `${timerName(timer)} was armed again by an insert of its create`)
      this.foreignInserts++
      this.deaths.note(timer, { created: 1 })
      this.#foreign.add(timer.fireId)
      this.#armedAtUs.set(timer.fireId, world.nowUs)
    }
    return inserted
  }

  /** A node that keeps reading and fires nothing is in an endless loop. */
  read(node: string): void {
    const { world } = this.#parts
    const reads = this.#reads.get(node) ?? { sinceUs: world.nowUs, firings: this.firings, pages: 0 }
    this.#reads.set(node, reads)
    if (world.nowUs - reads.sinceUs > circleUs || this.firings !== reads.firings) {
      reads.sinceUs = world.nowUs
      reads.firings = this.firings
      reads.pages = 0
    }
    if (++reads.pages > pagesInACircle)
      this.broken("liveness", `${node} read ${reads.pages} pages within 1 s and fired nothing`)
  }

  // ── Attempts ──────────────────────────────────────────────────────────────────────────────────

  began(process: SimProcess, fire: Fire): void {
    const { world, database } = this.#parts
    this.firings++
    this.#started.add(fire.fireId)
    const { uuid } = keyOf(fire.namespace, fire.timerId)
    const shard = shardOf(uuid, database.shards.length)
    const flights = this.#running.get(fire.fireId) ?? new Set()
    this.#running.set(fire.fireId, flights.add({ process, epoch: fire.epoch, key: fire }))
    const name = fireName(fire)
    world.trace.note(process.name, () => `starts ${name}, due ${sinceStart(fire.executeAt)}`)
    const current = database.shards[shard]?.epoch
    if (fire.epoch !== current)
      this.broken("fencing", `${process.name} started ${name} when epoch ${current} had been granted`)
    const row = database.known({ namespace: fire.namespace, timerId: fire.timerId, uuid }).pending
    this.#judgePayload(fire)
    const untrue = fire.death === undefined ? undefined : this.deaths.whyUntrue(fire, fire.death)
    if (untrue !== undefined) this.broken("deaths", untrue)
    if (row === undefined || (row.fireId !== fire.fireId && row.executeAt !== fire.executeAt)) {
      this.broken("definiteAnswers", `${process.name} started ${name}, which is not pending`)
      return
    }
    if (row.fireId !== fire.fireId) return
    const node = this.#parts.nodeOf(process)
    if (node === undefined) return
    // Such a call looks at its timer first, and the pause may have begun meanwhile.
    if (fire.death !== undefined) return
    const pause = this.pauses.forbids(node, fire.namespace)
    if (pause !== undefined) this.broken("pause", `${process.name} started ${name} while ${pause} was paused`)
    this.#judgeTime(node, shard, fire, row)
  }

  ended(process: SimProcess, fire: Fire): void {
    const flights = this.#running.get(fire.fireId)
    for (const flight of flights ?? [])
      if (flight.process === process && flight.epoch === fire.epoch) flights?.delete(flight)
    if (flights?.size === 0) this.#running.delete(fire.fireId)
  }

  // ── Private ───────────────────────────────────────────────────────────────────────────────────

  #checkEpochs(): void {
    for (const [shard, { epoch }] of this.#parts.database.shards.entries()) {
      if (epoch < (this.#epochs[shard] ?? 0)) this.broken("fencing", `the epoch of shard ${shard} fell`)
      this.#epochs[shard] = epoch
    }
  }

  /** A timer that was cancelled or moved with a definite answer must not have a running attempt. */
  #judgeAnswer(item: WriteItem, answer: WriteAnswer, pending: Timer | undefined, epoch: number): void {
    if (pending === undefined || !endsAtRest(item, answer)) return
    if ("timer" in answer && answer.timer.fireId === pending.fireId) return
    for (const flight of this.#running.get(pending.fireId) ?? []) {
      if (flight.epoch !== epoch || !flight.process.isAlive) continue
      const message = `${timerName(pending)} was ${answer.result} while an attempt of it ran`
      this.broken("definiteAnswers", message)
    }
  }

  #noteArming(
    item: WriteItem,
    answer: WriteAnswer,
    { pending, last }: ReturnType<MemoryDatabase["known"]>,
  ): void {
    const { world } = this.#parts
    const armed = armedBy(answer)
    if (armed === undefined || armed.fireId === pending?.fireId) return
    if (this.#armedAtUs.has(armed.fireId))
      this.broken("idempotence", `${timerName(armed)} was armed twice under one fireId`)
    this.#armedAtUs.set(armed.fireId, world.nowUs)
    // For some timers, clients send only one create, again and again. Such a timer fires once. A node whose clock is
    // behind the timer's due time cannot know whether a create is a repeat or asks for another life.
    if (item.kind !== "put" || !armed.timerId.startsWith(onceOnly) || last === undefined) return
    if (item.timer.createdAt >= armed.executeAt)
      this.broken("idempotence", `${timerName(armed)} was armed again by a repeat of its create`)
  }

  #judgePayload({ namespace, payload, ...fire }: Fire): void {
    if (payload === undefined) return
    const timerId = fire.death?.timerId ?? fire.timerId
    const { for: owner } = JSON.parse(decoder.decode(payload)) as { readonly for?: unknown }
    if (owner !== `${namespace}/${timerId}`)
      this.broken("isolation", `${namespace}/${timerId} was delivered with the payload of ${String(owner)}`)
  }

  #judgeTime(node: SimNode, shard: number, fire: Fire, row: Timer): void {
    const nowMs = node.clock.wallMs()
    const { scenario } = this.#parts
    if (fire.firedAt < row.fireAt || nowMs < row.fireAt)
      this.broken("neverEarly", `${fireName(fire)} started ${row.fireAt - nowMs} ms before its time`)
    if (row.attempts !== fire.attempt - 1)
      this.broken("history", `${fireName(fire)} started after ${row.attempts} stored attempts`)
    const isCalm = scenario.tenants.some((t) => t.namespace === fire.namespace && t.temper === "calm")
    if (!isCalm || !scenario.isAmple || fire.attempt > 1) return
    this.#judgeLateness(node, shard, fire, row, nowMs)
    this.#judgeOrder(node, shard, fire, row)
  }

  /** On a healthy node, a timer starts when it is due if the node wrote it, or if it has been in the store for long. */
  #judgeLateness(node: SimNode, shard: number, fire: Fire, row: Timer, nowMs: number): void {
    const { world } = this.#parts
    const armedAtUs = this.#armedAtUs.get(fire.fireId) ?? 0
    const knownSinceUs = this.#foreign.has(fire.fireId) ? armedAtUs + foreignNoticedWithinUs : armedAtUs
    const lateMs = Math.min(nowMs - row.fireAt, (world.nowUs - knownSinceUs) / 1_000)
    if (lateMs <= lateByAtMostMs) return
    const peaceSinceUs = world.nowUs - lateMs * 1_000 - settledInUs
    if (!this.#isSettled(node, shard, peaceSinceUs)) return
    if (this.pauses.mayHaveRested(fire.namespace, peaceSinceUs)) return
    this.broken("horizon", `${fireName(fire)} started ${Math.round(lateMs)} ms late on ${node.name}`)
  }

  /** Within one namespace and shard, no timer that is due earlier waits while this one starts. */
  #judgeOrder(node: SimNode, shard: number, fire: Fire, row: Timer): void {
    const { world, database } = this.#parts
    if (!this.#isSettled(node, shard, world.nowUs - settledInUs)) return
    const earlier = { shard, exclusiveAfter: beginning, limit: 1_000, only: fire.namespace }
    for (const timer of database.due({ ...earlier, inclusiveUntilMs: row.fireAt })) {
      if (!isBefore(timer, row)) return
      const armedAtUs = this.#armedAtUs.get(timer.fireId) ?? 0
      const isExcused =
        timer.attempts > 0 ||
        this.#started.has(timer.fireId) ||
        this.#foreign.has(timer.fireId) ||
        (this.#asked.get(timer.uuid) ?? 0) > 0 ||
        world.nowUs - armedAtUs < 1_000_000
      if (!isExcused) {
        this.broken("order", `${fireName(fire)} started before ${timerName(timer)}, which was due earlier`)
        return
      }
    }
  }

  #isSettled(node: SimNode, shard: number, sinceUs: number): boolean {
    return node.isWellSince(sinceUs) && (this.#ownedSinceUs[shard] ?? 0) <= sinceUs
  }
}

/** Clients only ever create timers whose ids begin like this, again and again. */
export const onceOnly = "once-"

/** Nothing is asked of these. */
const isLeftAlone = (timerId: string): boolean => timerId.startsWith(onceOnly) || tellsOfDeath({ timerId })

const decoder = new TextDecoder()

/** Every commit comes from a DecidingStore, which also sends the state that it decided from. */
const decidedOf = (change: KeyChange): DecidedChange => change as DecidedChange

const endsAtRest = (item: WriteItem, answer: WriteAnswer): boolean =>
  (item.kind === "cancel" && answer.result === "cancelled") ||
  (item.kind === "change" && answer.result === "changed") ||
  (item.kind === "schedule" && (answer.result === "moved" || answer.result === "cancelled"))

const armedBy = (answer: WriteAnswer): Timer | undefined => {
  switch (answer.result) {
    case "created":
    case "replaced":
    case "changed":
    case "moved":
    case "replayed":
      return answer.timer
    case "settled":
      return answer.next
    default:
      return undefined
  }
}

const fireName = ({ namespace, timerId, fireId, attempt, epoch }: Fire): string =>
  `attempt ${attempt} of ${namespace}/${timerId} (${fireId.slice(-6)}, epoch ${epoch})`

const timerName = ({ namespace, timerId, fireId, fireAt }: Timer): string =>
  `${namespace}/${timerId} (${fireId.slice(-6)}, due ${sinceStart(fireAt)})`

const itemName = (item: WriteItem): string => {
  const { namespace, timerId } = keyOfItem(item)
  const what =
    item.kind === "outcome" ? `outcome ${item.then.to} of ${item.timer.fireId.slice(-6)}` : item.kind
  return `${what} to ${namespace}/${timerId}`
}
