// A commit is several commands. These tests stop its process before and after each of them, wake it up again, and send
// each command twice. Whatever happens, the commit is executed in full or not at all.
import { describe, expect, test } from "bun:test"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { decide } from "../../../src/domain/decide.ts"
import { endOfLife } from "../../../src/domain/endOfLife.ts"
import type { Timer } from "../../../src/domain/Timer.ts"
import { keyOfItem, livesNamedBy, type WriteItem } from "../../../src/domain/WriteItem.ts"
import { wordOfTag } from "../../../src/domain/words.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { type CommitAnswer, type KeyChange, ShardStorage } from "../../../src/ports/ShardStorage.ts"
import { keyChangeOf } from "../../../src/stores/keyChangeOf.ts"
import { isEveryCrashTried } from "../../../testkit/effort.ts"
import { describeFerret } from "../../../testkit/FerretBinaries.ts"
import { type CommandFate, MongoProxy } from "../../../testkit/MongoProxy.ts"
import { ferretForTests, mongodbStoreAt } from "../../../testkit/mongodb.ts"
import { at } from "../../../testkit/StoreFixture.ts"
import {
  cancelOf,
  delivered,
  discardOf,
  onlyKey,
  outcomeOf,
  putOf,
  replayOf,
  sampleNow,
  sampleTimer,
} from "../../../testkit/timers.ts"
import { expectWordsAgree } from "../../../testkit/wordsAgree.ts"

/** One process with a store. */
class Process implements AsyncDisposable {
  readonly #scope: Scope.Closeable
  readonly storage: ShardStorage["Service"]
  readonly leases: ShardLeases["Service"]

  private constructor(scope: Scope.Closeable, services: Context.Context<ShardStorage | ShardLeases>) {
    this.#scope = scope
    this.storage = Context.get(services, ShardStorage)
    this.leases = Context.get(services, ShardLeases)
  }

  static async start(url: string): Promise<Process> {
    const scope = Effect.runSync(Scope.make())
    return new Process(scope, await Effect.runPromise(Layer.buildWithScope(mongodbStoreAt(url, 1), scope)))
  }

  async claim(node: string): Promise<number> {
    const owners = await Effect.runPromise(this.leases.owners)
    const lease = await Effect.runPromise(this.leases.claim(at(owners, 0), node))
    if (lease === undefined) throw new Error("the shard could not be claimed")
    await Effect.runPromise(this.storage.open(0, lease.epoch))
    return lease.epoch
  }

  async decided(item: WriteItem): Promise<KeyChange> {
    const look = { key: onlyKey(keyOfItem(item)), lives: livesNamedBy(item), withPayload: true }
    const known = at(await Effect.runPromise(this.storage.look([look])), 0)
    const change = keyChangeOf(item, decide(item, known), known)
    if (change === undefined) throw new Error(`the ${item.kind} changes nothing`)
    return change
  }

  async commit(epoch: number, number: number, changes: ReadonlyArray<KeyChange>): Promise<CommitAnswer> {
    return at(await Effect.runPromise(this.storage.commit([{ shard: 0, epoch, number, changes }])), 0)
  }

  async done(epoch: number, number: number, ...items: ReadonlyArray<WriteItem>): Promise<void> {
    const changes: Array<KeyChange> = []
    for (const item of items) changes.push(await this.decided(item))
    expect(await this.commit(epoch, number, changes)).toMatchObject({ result: "committed", missed: [] })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }
}

const tags = ["red", "blue"]
const payload = new Uint8Array([1, 2, 3])
const timerOf = (timerId: string, rest: Partial<Timer> = {}): Timer =>
  ({ ...sampleTimer({ timerId, fireAt: sampleNow, tags, payload }), ...rest }) as Timer

const timers = {
  fresh: timerOf("fresh"),
  used: timerOf("used"),
  taken: timerOf("used"),
  delivered: timerOf("delivered"),
  retried: timerOf("retried"),
  replayed: timerOf("replayed"),
  discarded: timerOf("discarded"),
  cancelled: timerOf("cancelled"),
  ended: timerOf("ended"),
  endedAgain: timerOf("ended"),
}
const deadOf = (timer: Timer) => ({
  ...endOfLife(timer, "dead", sampleNow),
  revision: timer.revision,
  reason: "refused",
})
const dies = (timer: Timer) => outcomeOf(timer, { to: "dead", reason: "refused" })

/** Items are the same in every run, because they have ids. */
const endings: ReadonlyArray<WriteItem> = [
  dies(timers.replayed),
  dies(timers.discarded),
  cancelOf(timers.cancelled),
  cancelOf(timers.ended),
]
const commitItems: ReadonlyArray<WriteItem> = [
  putOf(timers.fresh),
  outcomeOf(timers.delivered, delivered),
  outcomeOf(timers.retried, { to: "retry", fireAt: sampleNow + 99 }),
  replayOf(deadOf(timers.replayed)),
  discardOf(deadOf(timers.discarded)),
  { kind: "record", life: { ...endOfLife(timers.cancelled, "delivered", sampleNow + 70) } },
]

/** The state before the commit, and its changes: each kind of change, and two that miss. */
const prepare = async (process: Process, epoch: number): Promise<ReadonlyArray<KeyChange>> => {
  const {
    used,
    taken,
    delivered: ending,
    retried,
    replayed,
    discarded,
    cancelled,
    ended,
    endedAgain,
  } = timers
  const missing = [await process.decided(putOf(taken)), await process.decided(putOf(endedAgain))]
  await process.done(
    epoch,
    1,
    ...[used, ending, retried, replayed, discarded, cancelled, ended].map((timer) => putOf(timer)),
  )
  await process.done(epoch, 2, ...endings)
  const changes: Array<KeyChange> = [...missing]
  for (const item of commitItems) changes.push(await process.decided(item))
  return changes
}

/** Everything that callers can see, except for the order of lives that ended at the same instant. */
const contents = async ({ storage }: Process): Promise<unknown> => {
  const looks = Object.values(timers).map((timer) => ({
    key: onlyKey(timer),
    lives: [{ fireId: timer.fireId, minRevision: 0 }],
    withPayload: true,
  }))
  const scan = { namespace: "shop", isDescending: false, limit: 100 }
  const pages = await Effect.runPromise(
    storage.scan([
      { ...scan, order: "due" },
      ...(["delivered", "cancelled", "dead"] as const).map((state) => ({
        ...scan,
        order: "end" as const,
        state,
      })),
    ]),
  )
  await Effect.runPromise(expectWordsAgree(storage, "shop", tags.map(wordOfTag)))
  return {
    known: await Effect.runPromise(storage.look(looks)),
    listed: pages.map((page) =>
      page.map(({ fireId, state, atMs }) => ({ fireId, state, atMs })).sort(byFireId),
    ),
    tally: await Effect.runPromise(storage.tally),
  }
}

/** In the matrix every step is tried. Otherwise the tests share the steps, because neighbouring steps are alike. */
const isTried = (step: number, every: number, offset: number): boolean =>
  isEveryCrashTried || step % every === offset

const byFireId = (a: { readonly fireId: string }, b: { readonly fireId: string }): number =>
  a.fireId < b.fireId ? -1 : 1

describeFerret("the steps of a commit on FerretDB", () => {
  const server = ferretForTests()

  /** A prepared store, its owner behind a proxy, and a process that is not. */
  const prepared = async (decideOn: (step: number) => CommandFate | Promise<CommandFate>) => {
    const stack = new AsyncDisposableStack()
    const url = server().database()
    const proxy = stack.use(await MongoProxy.to(server().host, server().port))
    const other = stack.use(await Process.start(url))
    const owner = stack.use(
      await Process.start(url.replace(`${server().host}:${server().port}`, proxy.address)),
    )
    const epoch = await owner.claim("node-1")
    const changes = await prepare(owner, epoch)
    let steps = 0
    proxy.decide = () => decideOn(steps++)
    return { stack, owner, other, epoch, changes, steps: () => steps, before: await contents(other) }
  }

  /** How many commands the commit sends, its answer, and what is stored then. */
  const reference = async () => {
    const run = await prepared(() => "pass")
    await using _ = run.stack
    const answer = await run.owner.commit(run.epoch, 3, run.changes)
    return { steps: run.steps(), answer, after: await contents(run.other), before: run.before }
  }

  test("all changes of the commit are executed, except for those that miss", async () => {
    const { answer, before, after, steps } = await reference()
    expect(answer).toEqual({ result: "committed", missed: [0, 1], refused: [] })
    expect(after).not.toEqual(before)
    expect(steps).toBeGreaterThan(5)
  })

  for (const fate of ["cutBefore", "cutAfter"] as const) {
    test(`an owner that dies ${fate === "cutBefore" ? "before" : "after"} any command leaves all of the commit or nothing`, async () => {
      const { steps, before, after } = await reference()
      for (let step = 0; step < steps; step++) {
        // The death after a command is the death before the next one, except for the last.
        if (fate === "cutAfter" && step < steps - 1 && !isTried(step, 4, 0)) continue
        const run = await prepared((now) => (now === step ? fate : "pass"))
        await using _ = run.stack
        await expect(run.owner.commit(run.epoch, 3, run.changes)).rejects.toThrow()
        const isCommitted = step > 0 || fate === "cutAfter"
        // A reader sees each key before or after the change, even if no owner has taken the shard yet.
        const seen = (await contents(run.other)) as { readonly known: ReadonlyArray<unknown> }
        const [knownBefore, knownAfter] = [before, after].map((all) => (all as typeof seen).known)
        for (const [index, known] of seen.known.entries()) {
          expect([step, [knownBefore?.[index], knownAfter?.[index]]]).toEqual([
            step,
            expect.arrayContaining([known]) as never,
          ])
        }
        const epoch = await run.other.claim("node-2")
        expect([step, await contents(run.other)]).toEqual([step, isCommitted ? after : before])
        await run.other.done(epoch, 1, putOf(timerOf("later")))
      }
    }, 120_000)
  }

  test("a command that arrives twice has the effect of one, and the same answer", async () => {
    const { steps, answer, after } = await reference()
    for (let step = 0; step < steps; step++) {
      if (!isTried(step, 2, 0)) continue
      const run = await prepared((now) => (now === step ? "twice" : "pass"))
      await using _ = run.stack
      expect([step, await run.owner.commit(run.epoch, 3, run.changes)]).toEqual([step, answer])
      expect([step, await contents(run.other)]).toEqual([step, after])
    }
  }, 120_000)

  /** What the new owner does while the old one sleeps. Afterwards everything that ended is pruned, so only traces are left. */
  const meanwhiles = {
    nothing: async () => {},
    "more changes": async (other: Process, epoch: number) => {
      const { fresh, retried, replayed, used } = timers
      await other.done(epoch, 1, cancelOf(fresh), cancelOf(retried), cancelOf(replayed), cancelOf(used))
    },
  }

  for (const [title, meanwhile] of Object.entries(meanwhiles)) {
    test(`an old owner that wakes up in the middle of its commit changes nothing, after ${title} of the new one`, async () => {
      const { steps, after } = await reference()
      for (let step = 1; step < steps; step++) {
        if (!isTried(step, 2, title === "nothing" ? 1 : 0)) continue
        const [asleep, awake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const run = await prepared(async (now): Promise<CommandFate> => {
          if (now !== step) return "pass"
          asleep.resolve()
          await awake.promise
          return "pass"
        })
        await using _ = run.stack
        const old = run.owner.commit(run.epoch, 3, run.changes).catch(() => undefined)
        await asleep.promise
        const epoch = await run.other.claim("node-2")
        expect([step, await contents(run.other)]).toEqual([step, after])
        await meanwhile(run.other, epoch)
        await Effect.runPromise(run.other.storage.prune(Number.MAX_SAFE_INTEGER, 1_000))
        const pruned = await contents(run.other)
        awake.resolve()
        await old
        expect([step, await contents(run.other)]).toEqual([step, pruned])
        expect(await run.owner.commit(run.epoch, 4, [])).toEqual({ result: "ownershipLost" })
      }
    }, 120_000)
  }
})

describe("stamps", () => {
  test("an epoch sorts before the next one, whatever its number is", async () => {
    const { stampOf, stampOfForeign } = await import("../../../src/stores/mongodb/Intent.ts")
    const stamps = [
      stampOfForeign,
      stampOf(1, 2),
      stampOf(1, 10),
      stampOf(1, 2 ** 40),
      stampOf(2, 0),
      stampOf(16, 1),
    ]
    expect([...stamps].sort()).toEqual(stamps)
  })
})
