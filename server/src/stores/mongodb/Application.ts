// Carries out an intent. It is idempotent, and several processes may do it at once: the owner, the next owner, a reader,
// and an old owner that was stopped in the middle and goes on.
//
// The key's document decides. It holds the pending timer, a reference to the last life (`last`) and the stamp of its
// last change, so one update checks what the change expects, executes it, and marks it as executed. A change that misses
// also leaves its stamp, with `missed`. So after an application every key of the intent has its stamp or a higher one,
// and a late application finds nothing to do. Then the lives of executed changes are written, also only over lower
// stamps. Removed lives and unused keys stay as traces, with their stamps, until the index `gone` removes them.
//
// Most changes are sent without reading anything: new keys are inserted, and changes that expect a pending timer are
// updates that match it. Only what fails there, and changes that name a life, is read, checked and sent again.
import type { Commands, Document, UpdateOne } from "@punctual/documents/mongodb/Commands"
import type { IntendedChange, Intent } from "./Intent.ts"
import { applicationTimeoutMs, mostRounds } from "./limits.ts"
import { lifeColumns, lifeIdOf, timerColumns } from "./rows.ts"

/** Another owner has changed the keys since, so it has applied the intent itself. */
export class Superseded extends Error {}

/** A reference to a life. MongoDB compares the fields in this order, so `$max` keeps the life that is the last. */
interface LastLife {
  readonly r: number
  readonly n: number
  readonly f: string
}

/** A trace keeps the shard, so that a reader can help with its last change. */
const name = ["namespace", "timer_id"]
const marks = ["missed", "wrote", "removed", "gone", "foreign"]
const absent = { $exists: false }

/** Whether each change was executed, in the order of the changes. */
export const applyIntent = async (
  commands: Commands,
  shard: number,
  { stamp, changes = [] }: Intent,
): Promise<ReadonlyArray<boolean>> => new Application(commands, shard, stamp, changes).run()

class Application {
  readonly #commands: Commands
  readonly #shard: number
  readonly #stamp: string
  readonly #changes: ReadonlyArray<IntendedChange>
  readonly #executed: Array<boolean | undefined>
  readonly #endsBefore = performance.now() + applicationTimeoutMs

  constructor(commands: Commands, shard: number, stamp: string, changes: ReadonlyArray<IntendedChange>) {
    this.#commands = commands
    this.#shard = shard
    this.#stamp = stamp
    this.#changes = changes
    this.#executed = new Array(changes.length)
  }

  async run(): Promise<ReadonlyArray<boolean>> {
    await this.#sendUnread()
    for (let round = 0; this.#open().length > 0; round++) {
      if (round === mostRounds) throw new Error(`the keys of a commit changed ${mostRounds} times`)
      this.#checkTime()
      await this.#sendRead(this.#open())
    }
    this.#checkTime()
    await this.#writeLives()
    return this.#executed.map((isExecuted) => isExecuted === true)
  }

  /** The changes whose result is unknown, by key: two applications must not lock documents in different orders. */
  #open(): Array<number> {
    const open: Array<number> = []
    for (let index = 0; index < this.#changes.length; index++) {
      if (this.#executed[index] === undefined) open.push(index)
    }
    return open.sort((a, b) => (this.#at(a).uuid < this.#at(b).uuid ? -1 : 1))
  }

  async #sendUnread(): Promise<void> {
    const [fresh, known]: [Array<number>, Array<number>] = [[], []]
    for (const index of this.#open()) {
      const change = this.#at(index)
      if (isOfNewKey(change)) fresh.push(index)
      else if (isOfKnownTimer(change)) known.push(index)
    }
    const [used, matched] = await Promise.all([
      this.#commands.insert(
        "keys",
        fresh.map((index) => this.#newKey(this.#at(index))),
      ),
      this.#commands.update(
        "keys",
        known.map((index) => this.#updateOfKnown(this.#at(index))),
      ),
    ])
    for (const [place, index] of fresh.entries()) if (!used.has(place)) this.#executed[index] = true
    // The answer does not say which updates matched.
    if (matched === known.length) for (const index of known) this.#executed[index] = true
  }

  #newKey({ uuid, payload, pending, ...change }: IntendedChange): Document {
    return {
      _id: uuid,
      ...this.#identityOf(change),
      stamp: this.#stamp,
      pending: true,
      ...pending,
      ...(payload ? { payload } : {}),
    }
  }

  #identityOf({ namespace, timer_id }: Pick<IntendedChange, "namespace" | "timer_id">): Document {
    return { shard: this.#shard, namespace, timer_id }
  }

  #updateOfKnown(change: IntendedChange): UpdateOne {
    const { uuid, expects, life, entry = 0 } = change
    const [set, unset] = this.#fieldsAfter(change)
    const last = life === undefined ? {} : { $max: { last: lastOf(life, entry) } }
    const expected = { ...expects.pending, stamp: { $lt: this.#stamp } }
    return { q: { _id: uuid, pending: true, ...expected }, u: updateOf(set, unset, last) }
  }

  /** Reads the keys, checks what their changes expect, and executes them or marks them as missed. */
  async #sendRead(open: ReadonlyArray<number>): Promise<void> {
    const changes = open.map((index) => this.#at(index))
    const [keys, lives] = await Promise.all([
      this.#commands.find(
        "keys",
        { _id: { $in: changes.map(({ uuid }) => uuid) } },
        { projection: noBodies },
      ),
      this.#readLives(changes),
    ])
    const keyOf = new Map(keys.map((key) => [key["_id"], key]))
    const updates: Array<UpdateOne> = []
    const sent: Array<readonly [index: number, isExecuted: boolean]> = []
    for (const index of open) {
      const change = this.#at(index)
      const key = keyOf.get(change.uuid)
      const stamp = key?.["stamp"] ?? ""
      if (stamp > this.#stamp) throw new Superseded("another owner has taken the shard and changed its keys")
      if (key !== undefined && stamp === this.#stamp) {
        this.#executed[index] = key["missed"] !== true
        continue
      }
      const isExecuted = holds(change, key, lives)
      updates.push({
        q: { _id: change.uuid, ...asRead(key) },
        u: isExecuted ? await this.#updateOfRead(change, key) : this.#missed(key),
        upsert: key === undefined,
      })
      sent.push([index, isExecuted])
    }
    const matched = await this.#commands.update("keys", updates)
    if (matched < sent.length) return
    for (const [index, isExecuted] of sent) this.#executed[index] = isExecuted
  }

  async #readLives(changes: ReadonlyArray<IntendedChange>): Promise<ReadonlyMap<string, Document>> {
    const ids = changes.flatMap(({ uuid, expects: { life } }) =>
      life === undefined ? [] : [lifeIdOf(uuid, life.fire_id)],
    )
    if (ids.length === 0) return new Map()
    const lives = await this.#commands.find("lives", { _id: { $in: ids } }, { projection: noBodies })
    return new Map(lives.map((life) => [life["_id"], life]))
  }

  async #updateOfRead(change: IntendedChange, key: Document | undefined): Promise<Document> {
    const [set, unset] = this.#fieldsAfter(change)
    const last = await this.#lastAfter(change, key?.["last"])
    const isPending = change.pending === undefined ? key?.["pending"] === true : change.pending !== null
    if (!isPending && last === undefined) {
      return traceOf(set, [...unset, ...name, "last"])
    }
    if (last === undefined) unset.push("last")
    else set["last"] = last
    return updateOf({ ...set, ...this.#identityOf(change) }, unset)
  }

  async #lastAfter(change: IntendedChange, last: LastLife | undefined): Promise<LastLife | undefined> {
    const { life, entry, expects } = change
    if (change.removes_life && last?.f === expects.life?.fire_id) return this.#nextLast(change)
    if (life === undefined) return last
    const added = lastOf(life, entry ?? (last?.f === life["fire_id"] ? (last?.n ?? 0) : 0))
    return last === undefined || last.f === added.f || isAfter(added, last) ? added : last
  }

  async #nextLast({ namespace, timer_id, expects }: IntendedChange): Promise<LastLife | undefined> {
    return nextLastOf(this.#commands, namespace, timer_id, [expects.life?.fire_id ?? ""])
  }

  #missed(key: Document | undefined): Document {
    const set = { stamp: this.#stamp, missed: true }
    const unset = ["wrote", "removed"]
    return key?.["namespace"] === undefined ? traceOf(set, unset) : updateOf(set, unset)
  }

  /** What the key's document has after the change, except for `last`, and what it loses. */
  #fieldsAfter(change: IntendedChange): [set: Document, unset: Array<string>] {
    const { pending, payload, life, removes_life, expects } = change
    const set: Document = { stamp: this.#stamp }
    const unset = new Set(marks)
    if (life !== undefined) set["wrote"] = life["fire_id"]
    if (removes_life) set["removed"] = expects.life?.fire_id
    if (pending !== undefined) {
      const keeps = new Set(change.keeps_spec ? ["spec"] : [])
      if (payload === undefined && pending !== null) keeps.add("payload")
      for (const column of ["pending", ...timerColumns]) if (!keeps.has(column)) unset.add(column)
    }
    if (pending) {
      Object.assign(set, pending, { pending: true })
      if (change.keeps_spec) delete set["spec"]
      if (payload) set["payload"] = payload
    }
    for (const column of Object.keys(set)) unset.delete(column)
    return [set, [...unset]]
  }

  async #writeLives(): Promise<void> {
    const added: Array<Document> = []
    const updates: Array<UpdateOne> = []
    for (const [index, change] of this.#changes.entries()) {
      if (this.#executed[index] !== true) continue
      const { uuid, life, entry, removes_life, expects } = change
      if (removes_life) {
        const trace = traceOf({ stamp: this.#stamp }, ["shard", "uuid", ...name, ...lifeColumns])
        updates.push(this.#ofLife(uuid, expects.life?.fire_id ?? "", trace))
      }
      if (life === undefined) continue
      const whole = { uuid, ...this.#identityOf(change), stamp: this.#stamp, ...life }
      if (entry !== undefined) added.push({ _id: lifeIdOf(uuid, life["fire_id"]), ...whole, entry })
      else {
        const unset = ["gone", ...lifeColumns].filter((column) => life[column] === undefined)
        updates.push(this.#ofLife(uuid, life["fire_id"], updateOf(whole, unset)))
      }
    }
    const used = await this.#commands.insert("lives", added)
    for (const place of used) {
      const { _id, uuid, ...life } = added[place] ?? {}
      updates.push(this.#ofLife(uuid, life["fire_id"], { uuid, ...life }))
    }
    await this.#commands.update("lives", updates)
  }

  #ofLife(uuid: string, fireId: string, u: Document): UpdateOne {
    return { q: { _id: lifeIdOf(uuid, fireId), stamp: { $lt: this.#stamp } }, u }
  }

  #at(index: number): IntendedChange {
    const change = this.#changes[index]
    if (change === undefined) throw new Error(`the intent has no change ${index}`)
    return change
  }

  #checkTime(): void {
    if (performance.now() > this.#endsBefore) throw new Error("the application of a commit took too long")
  }
}

const noBodies = { spec: 0, payload: 0, last_attempt: 0 }

const isOfNewKey = ({ expects, pending, life, removes_life }: IntendedChange): boolean =>
  expects.pending === null &&
  expects.last === null &&
  expects.life === undefined &&
  pending !== undefined &&
  pending !== null &&
  life === undefined &&
  !removes_life

/** The change leaves a pending timer or a life behind, so the key stays in use. */
const isOfKnownTimer = ({ expects, pending, life, removes_life }: IntendedChange): boolean =>
  expects.pending !== undefined &&
  expects.pending !== null &&
  expects.last === undefined &&
  expects.life === undefined &&
  !removes_life &&
  (life !== undefined || (pending !== undefined && pending !== null))

const holds = (
  { uuid, expects }: IntendedChange,
  key: Document | undefined,
  lives: ReadonlyMap<string, Document>,
): boolean => {
  const isPending = key?.["pending"] === true
  if (expects.pending === null && isPending) return false
  if (expects.pending) {
    if (!isPending) return false
    for (const [name, value] of Object.entries(expects.pending)) {
      if ((key?.[name] ?? null) !== value) return false
    }
  }
  if (expects.last !== undefined && (key?.["last"]?.f ?? null) !== expects.last) return false
  if (expects.life === undefined) return true
  const life = lives.get(lifeIdOf(uuid, expects.life.fire_id))
  const isNamed = life?.["state"] !== undefined && life["revision"] >= expects.life.revision
  return (isNamed ? life["state"] : null) === expects.life.state
}

/** Matches the key's document only as it was read. Pruning and inserts without an owner leave the stamp as it is. */
const asRead = (key: Document | undefined): Document =>
  key === undefined
    ? { stamp: absent }
    : {
        stamp: key["stamp"],
        "last.f": key["last"]?.f ?? absent,
        fire_id: key["fire_id"] ?? absent,
      }

const lastOf = (life: Document, entry: number): LastLife => ({
  r: life["revision"],
  n: entry,
  f: life["fire_id"],
})

const isAfter = (a: LastLife, b: LastLife): boolean => a.r > b.r || (a.r === b.r && a.n >= b.n)

export const updateOf = (set: Document, unset: ReadonlyArray<string>, more: Document = {}): Document => ({
  $set: set,
  ...(unset.length === 0 ? {} : { $unset: Object.fromEntries(unset.map((name) => [name, ""])) }),
  ...more,
})

/** Makes a document a trace. The database's clock says since when, because it also removes the document. */
export const traceOf = (set: Document, unset: ReadonlyArray<string>): Document =>
  updateOf(
    set,
    unset.filter((name) => name !== "gone" && set[name] === undefined),
    { $currentDate: { gone: true } },
  )

/** The life with the highest revision, except for these. */
export const nextLastOf = async (
  commands: Commands,
  namespace: string,
  timerId: string,
  except: ReadonlyArray<string>,
): Promise<LastLife | undefined> => {
  const [next] = await commands.find(
    "lives",
    { namespace, timer_id: timerId, fire_id: { $nin: except } },
    { sort: { revision: -1, entry: -1 }, limit: 1, projection: { revision: 1, entry: 1, fire_id: 1 } },
  )
  return next === undefined ? undefined : lastOf(next, next["entry"])
}
