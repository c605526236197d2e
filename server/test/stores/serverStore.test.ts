// What serverStore.ts does with leases and members, for every store of a database server. The leases' own suite tests the
// adapters.
import { expect, test } from "bun:test"
import { Context, Effect } from "effect"
import { type Lease, type Member, ShardLeases } from "../../src/ports/ShardLeases.ts"
import { ownIdentity } from "../../src/stores/ProcessIdentity.ts"
import { type LeaseWork, lanesOver, type ServerWork, serverStore } from "../../src/stores/serverStore.ts"
import { describeUnless } from "../../testkit/describeUnless.ts"

/** The same process number with an earlier start: that process has ended. */
const ended = ownIdentity()?.replace(/\d+$/, (ticks) => String(Number(ticks) - 1))

const memberOf = (node: string, process: string): Member => ({
  node,
  process,
  address: "",
  beat: 1,
  isLeaving: false,
})

const heldBy = (node: string | undefined, shard: number, epoch: number): Lease => ({
  shard,
  epoch,
  counter: 1,
  foreign: 0,
  ...(node === undefined ? {} : { node }),
})

/** A database in the memory of the test. `onRemove` runs before an entry is removed. */
class Leases implements LeaseWork<undefined> {
  leases: Array<Lease> = []
  entries: Array<Member> = []
  onRemove: () => void = () => {}

  owners = async () => [...this.leases]
  members = async () => this.entries
  claim = async () => undefined
  renew = async () => []

  announce = async () => true

  release = async (_: undefined, held: ReadonlyArray<Pick<Lease, "shard" | "epoch">>) => {
    for (const { shard, epoch } of held)
      this.leases = this.leases.map((lease) =>
        lease.shard === shard && lease.epoch === epoch ? heldBy(undefined, shard, epoch) : lease,
      )
  }

  remove = async (_: undefined, { node, process }: Pick<Member, "node" | "process">) => {
    this.onRemove()
    const left = this.entries.filter((entry) => entry.node !== node || entry.process !== process)
    const isRemoved = left.length < this.entries.length
    this.entries = left
    return isRemoved
  }
}

const announced = (leases: Leases): Promise<unknown> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const services = yield* serverStore<undefined>({
          lanes: lanesOver(undefined),
          // The test calls nothing else.
          work: { storage: {}, leases } as unknown as ServerWork<undefined>,
          shards: 2,
          limits: { batchItems: 1, batchBytes: 1, itemBytes: 1, concurrentWrites: 1, shardsTogether: 1 },
          rules: { isFatal: () => false, isTransient: () => false, describe: String },
        })
        const calls = Context.get(services, ShardLeases)
        yield* calls.announce({ node: "new", address: "", isLeaving: false })
      }),
    ),
  )

describeUnless(
  ended === undefined ? "only Linux can identify a process" : undefined,
  "a node that starts",
  () => {
    test("frees the shards of a node of its machine that has ended, and no others", async () => {
      const leases = new Leases()
      leases.entries = [memberOf("first", ended ?? ""), memberOf("second", "elsewhere")]
      leases.leases = [heldBy("first", 0, 3), heldBy("second", 1, 5)]
      await announced(leases)
      expect(leases.leases).toEqual([heldBy(undefined, 0, 3), heldBy("second", 1, 5)])
      expect(leases.entries.map(({ node }) => node)).toEqual(["second"])
    })

    test("leaves a new process with the same name its shards", async () => {
      const leases = new Leases()
      leases.entries = [memberOf("first", ended ?? "")]
      leases.leases = [heldBy("first", 0, 3), heldBy("first", 1, 5)]
      // The new process claims a shard of the old one before the entry of the old one is removed.
      leases.onRemove = () => {
        leases.leases = [heldBy("first", 0, 4), heldBy("first", 1, 5)]
      }
      await announced(leases)
      expect(leases.leases).toEqual([heldBy("first", 0, 4), heldBy(undefined, 1, 5)])
    })

    test("frees nothing if another process has the name by then", async () => {
      const leases = new Leases()
      leases.entries = [memberOf("first", ended ?? "")]
      leases.leases = [heldBy("first", 0, 3)]
      leases.onRemove = () => {
        leases.entries = [memberOf("first", "another")]
      }
      await announced(leases)
      expect(leases.leases).toEqual([heldBy("first", 0, 3)])
    })
  },
)
