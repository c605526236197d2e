// Shard leases and members. All leases of a store are in one partition, so that a node renews all of its shards with one
// conditional batch. A claim first takes the lease and then sets the fence of the shard's own partition. Until both are
// done, nobody writes under the new epoch. If the claim ends in between, the next one goes on from its lease.
import type { Announcement, Lease, Member, SeenBeat } from "../../ports/ShardLeases.ts"
import { hasEnded, processHere } from "../ProcessIdentity.ts"
import type { Fences } from "./Fences.ts"
import { LeaseWrites, ofLeases } from "./LeaseWrites.ts"
import { numberIn, textIn } from "./rows.ts"
import type { BatchSession, Row, Statement } from "./Session.ts"

/** Nodes disturb each other in one partition, so a batch may be refused although its leases are held. */
const mostTries = 5

const reading = { isOfLeases: true } as const

type Held = { readonly shard: number; readonly epoch: number }

export class Leases {
  readonly #session: BatchSession
  readonly #fences: Fences
  readonly #writes: LeaseWrites

  constructor(session: BatchSession, fences: Fences) {
    this.#session = session
    this.#fences = fences
    this.#writes = new LeaseWrites(session)
  }

  async owners(): Promise<ReadonlyArray<Lease>> {
    const rows = await this.#session.rows(
      "SELECT shard, epoch, counter, node FROM leases WHERE store = ?",
      [this.#session.store],
      reading,
    )
    return rows.map(leaseOf)
  }

  async claim({ shard, epoch, counter }: Lease, node: string): Promise<Lease | undefined> {
    const { store } = this.#session
    const next = { shard, epoch: epoch + 1, counter: counter + 1, foreign: 0, node }
    const isTaken = await this.#writes.write({
      query:
        "UPDATE leases SET epoch = ?, counter = ?, node = ? WHERE store = ? AND shard = ? IF epoch = ? AND counter = ?",
      params: [BigInt(next.epoch), BigInt(next.counter), node, store, shard, BigInt(epoch), BigInt(counter)],
    })
    if (!isTaken) return undefined
    const lost = await this.#session.batch(
      [
        {
          query: "UPDATE shards SET epoch = ?, number = 0 WHERE store = ? AND shard = ? IF epoch < ?",
          params: [BigInt(next.epoch), store, shard, BigInt(next.epoch)],
        },
      ],
      { isConditional: true },
    )
    await this.#fences.claimed(shard)
    return lost === undefined ? next : undefined
  }

  async renew(held: ReadonlyArray<Held>): Promise<ReadonlyArray<{ readonly foreign: number } | undefined>> {
    if (held.length === 0) return []
    for (let tries = 0; ; tries++) {
      const owners = new Map((await this.owners()).map((lease) => [lease.shard, lease]))
      const own = held.map(({ shard, epoch }) => {
        const lease = owners.get(shard)
        return lease?.epoch === epoch && lease.node !== undefined ? lease : undefined
      })
      const statements = own.flatMap((lease) => (lease === undefined ? [] : [this.#renewal(lease)]))
      const isRenewed = statements.length === 0 || (await this.#writes.renew(statements))
      if (isRenewed) return own.map((lease) => (lease === undefined ? undefined : { foreign: 0 }))
      if (tries === mostTries) throw new Error("the leases changed again and again while they were renewed")
    }
  }

  #renewal({ shard, epoch, counter, node }: Lease): Statement {
    return {
      query:
        "UPDATE leases SET counter = ? WHERE store = ? AND shard = ? IF epoch = ? AND counter = ? AND node = ?",
      params: [BigInt(counter + 1), this.#session.store, shard, BigInt(epoch), BigInt(counter), node ?? null],
    }
  }

  async release(shard: number, epoch: number): Promise<void> {
    await this.#writes.write({
      query: "UPDATE leases SET node = null WHERE store = ? AND shard = ? IF epoch = ?",
      params: [this.#session.store, shard, BigInt(epoch)],
    })
  }

  async members(): Promise<ReadonlyArray<Member>> {
    return (await this.#memberRows()).map(memberOf)
  }

  #memberRows(): Promise<ReadonlyArray<Row>> {
    return this.#session.rows("SELECT * FROM members WHERE store = ?", [this.#session.store], reading)
  }

  /** False if the name belongs to another process. */
  async announce({ node, address, isLeaving }: Announcement): Promise<boolean> {
    const own = processHere()
    for (let tries = 0; ; tries++) {
      const [row] = await this.#session.rows(
        "SELECT * FROM members WHERE store = ? AND node = ?",
        [this.#session.store, node],
        reading,
      )
      const before = row === undefined ? undefined : memberOf(row)
      if (before !== undefined && before.process !== own) return false
      const refused = await this.#session.batch(
        [
          {
            query: `UPDATE members SET address = ?, beat = ?, is_leaving = ?, process = ? WHERE store = ? AND node = ?
              IF beat = ? AND process = ?`,
            params: [
              address,
              BigInt((before?.beat ?? 0) + 1),
              isLeaving,
              own,
              this.#session.store,
              node,
              before === undefined ? null : BigInt(before.beat),
              before?.process ?? null,
            ],
          },
        ],
        ofLeases,
      )
      if (refused === undefined) return true
      if (tries === mostTries) throw new Error(`the entry of ${node} changed again and again`)
    }
  }

  async retire(node: string): Promise<void> {
    await this.#remove(node, "IF process = ?", [processHere()])
  }

  async retireSilent({ node, process, beat }: SeenBeat): Promise<void> {
    await this.#remove(node, "IF process = ? AND beat = ?", [process, BigInt(beat)])
  }

  async #remove(node: string, condition: string, values: ReadonlyArray<string | bigint>): Promise<boolean> {
    const refused = await this.#session.batch(
      [
        {
          query: `DELETE FROM members WHERE store = ? AND node = ? ${condition}`,
          params: [this.#session.store, node, ...values],
        },
      ],
      ofLeases,
    )
    return refused === undefined
  }

  /** Removes nodes whose processes ran on this machine and have ended, and frees their shards. Returns their names. */
  async buryTheDead(): Promise<ReadonlyArray<string>> {
    const buried: Array<string> = []
    for (const { node, process } of await this.members()) {
      if (process === "" || !hasEnded(process)) continue
      if (!(await this.#remove(node, "IF process = ?", [process]))) continue
      for (const lease of await this.owners()) {
        if (lease.node === node) await this.release(lease.shard, lease.epoch)
      }
      buried.push(node)
    }
    return buried
  }
}

const leaseOf = (row: Row): Lease => {
  const node = textIn(row, "node")
  return {
    shard: numberIn(row, "shard"),
    epoch: numberIn(row, "epoch"),
    counter: numberIn(row, "counter"),
    foreign: 0,
    ...(node === undefined ? {} : { node }),
  }
}

const memberOf = (row: Row): Member => ({
  node: textIn(row, "node") ?? "",
  address: textIn(row, "address") ?? "",
  beat: numberIn(row, "beat"),
  process: textIn(row, "process") ?? "",
  isLeaving: row["is_leaving"] === true,
})
