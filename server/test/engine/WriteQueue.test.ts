// Group commit: order within a shard, one commit of a shard at a time, bounds of a batch, and answers that
// come exactly once, whatever the store does.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import fc from "fast-check"
import { itemBytes, type Put } from "../../src/domain/WriteItem.ts"
import { EngineMetrics } from "../../src/engine/EngineMetrics.ts"
import { WriteQueue } from "../../src/engine/WriteQueue.ts"
import { type BatchAnswer, type ShardBatch, StoreError, type TimerStore } from "../../src/ports/TimerStore.ts"
import { type EngineHarness, engineTest, runVirtually } from "../../testkit/EngineHarness.ts"
import { samplePut } from "../../testkit/timers.ts"

interface Commit {
  readonly batches: ReadonlyArray<ShardBatch>
  readonly reply: (answers: Reply) => void
}

type Reply = "done" | "unknown" | "ownershipLost" | "overtaken"

type Limits = TimerStore["Service"]["limits"]

const limits: Limits = { batchItems: 5, batchBytes: 4_000, itemBytes: 10_000, concurrentWrites: 3 }

/** A store whose commits stand until the test replies; it notes what it may not be asked. */
class SteppedStore {
  readonly commits: Array<Commit> = []
  readonly written: Array<ReadonlyArray<ShardBatch>> = []
  readonly wrongs: Array<string> = []
  private readonly numbers = new Map<number, number>()
  readonly service: Pick<TimerStore["Service"], "limits" | "write">

  constructor(given: Limits = limits) {
    this.service = { limits: given, write: (batches) => this.write(batches) }
  }

  private write(batches: ReadonlyArray<ShardBatch>): Effect.Effect<ReadonlyArray<BatchAnswer>, StoreError> {
    return Effect.callback((resume) => {
      this.check(batches)
      this.written.push(batches)
      const commit: Commit = {
        batches,
        reply: (answers) => {
          this.commits.splice(this.commits.indexOf(commit), 1)
          resume(
            answers === "unknown"
              ? Effect.fail(new StoreError({ message: "no reply", isFatal: false }))
              : Effect.succeed(batches.map((batch) => answerOf(batch, answers))),
          )
        },
      }
      this.commits.push(commit)
    })
  }

  private check(batches: ReadonlyArray<ShardBatch>): void {
    const { batchItems, batchBytes, concurrentWrites } = this.service.limits
    const shards = batches.map(({ shard }) => shard)
    const underWay = this.commits.flatMap((commit) => commit.batches.map(({ shard }) => shard))
    const items = batches.flatMap((batch) => batch.items)
    const bytes = items.reduce((sum, item) => sum + itemBytes(item), 0)
    const mustNot = (isWrong: boolean, what: string) => isWrong && this.wrongs.push(what)
    mustNot(
      new Set([...shards, ...underWay]).size < shards.length + underWay.length,
      "two commits of a shard",
    )
    mustNot(items.length === 0 || items.length > batchItems, `a commit of ${items.length} items`)
    mustNot(items.length > 1 && bytes > batchBytes, `a commit of ${bytes} bytes`)
    mustNot(this.commits.length >= concurrentWrites, "too many commits under way")
    for (const { shard, number } of batches) {
      mustNot(number <= (this.numbers.get(shard) ?? 0), `call ${number} of shard ${shard} after a later one`)
      this.numbers.set(shard, number)
    }
  }
}

const answerOf = ({ items }: ShardBatch, reply: Exclude<Reply, "unknown">): BatchAnswer =>
  reply === "done"
    ? {
        result: "written",
        answers: items.map((item) => ({ result: "created", timer: (item as Put).timer })),
      }
    : { result: reply }

/** A queue over a stepped store, with what was pushed and answered by shard. */
const queueOver = Effect.fnUntraced(function* (store: Pick<TimerStore["Service"], "limits" | "write">) {
  const metrics = yield* EngineMetrics.make
  // The queue uses nothing else of a store.
  const queue = yield* WriteQueue.make(
    store as TimerStore["Service"],
    { queuedItems: 1_000, queuedBytes: 1 << 20 },
    metrics,
    (_, loop) => loop,
  )
  const pushed = new Map<number, Array<string>>()
  const seen = new Map<number, Array<string>>()
  const answered = new Map<number, Array<string>>()
  const unanswered: Array<string> = []
  const notWritten: Array<string> = []
  const note = (log: Map<number, Array<string>>, shard: number, id: string) =>
    log.set(shard, [...(log.get(shard) ?? []), id])
  const open = (shard: number) =>
    queue.open({
      shard,
      epoch: 1,
      onAnswer: (item) => note(seen, shard, (item as Put).timer.timerId),
      onOwnershipLost: () => queue.close(shard),
    })
  const push = (shard: number, payloadBytes = 0, then: () => void = () => {}): string | undefined => {
    const item = samplePut({ payload: new Uint8Array(payloadBytes) })
    const { timerId } = item.timer
    const isQueued = queue.push(
      { shard, epoch: 1 },
      {
        item,
        onAnswer: (answer) => {
          if (answer === "unknown") unanswered.push(timerId)
          else if (answer === "notWritten") notWritten.push(timerId)
          else note(answered, shard, timerId)
          then()
        },
      },
    )
    if (isQueued) note(pushed, shard, timerId)
    return isQueued ? timerId : undefined
  }
  return { queue, open, push, pushed, seen, answered, unanswered, notWritten }
})

const steps = fc.array(
  fc.record({
    op: fc.constantFrom(
      ...["push", "push", "burst", "reply", "reply", "unknown", "lost", "overtaken", "close", "wait"],
    ),
    shard: fc.nat(3),
    size: fc.nat(2_500),
  }),
  { maxLength: 60 },
)

const law =
  (sequence: ReadonlyArray<{ op: string; shard: number; size: number }>) => (engine: EngineHarness) =>
    Effect.gen(function* () {
      const store = new SteppedStore()
      const { queue, open, push, pushed, seen, answered, unanswered, notWritten } = yield* queueOver(
        store.service,
      )
      for (let shard = 0; shard < 4; shard++) open(shard)
      for (const { op, shard, size } of sequence) {
        const commit = store.commits[size % Math.max(1, store.commits.length)]
        if (op === "push") push(shard, size)
        if (op === "burst") for (const of of [shard, shard, 0, shard]) push(of, size)
        if (op === "reply") commit?.reply("done")
        if (op === "unknown") commit?.reply("unknown")
        if (op === "lost") commit?.reply("ownershipLost")
        if (op === "overtaken") commit?.reply("overtaken")
        if (op === "close") queue.close(shard)
        if (op === "wait") yield* engine.advance(2_000)
        yield* engine.still
        expect(store.wrongs).toEqual([])
        for (const [of, ids] of seen) {
          expect(answered.get(of)).toEqual(ids)
          expect(pushed.get(of)?.slice(0, ids.length)).toEqual(ids)
        }
      }
      for (let round = 0; round < 100; round++) {
        for (const commit of [...store.commits]) commit.reply("done")
        yield* engine.advance(2_000)
      }
      yield* queue.awaitIdle
      expect(queue.stuckSinceNanos).toBeUndefined()
      const setOut = new Set(
        store.written.flat().flatMap(({ items }) => items.map((item) => (item as Put).timer.timerId)),
      )
      for (const id of unanswered) expect(setOut.has(id)).toBe(true)
      const all = [...answered.values()].flat().concat(unanswered, notWritten)
      expect(all.sort()).toEqual([...pushed.values()].flat().sort())
    })

test(
  "answers come once and in queue order, one commit of a shard at a time, within the store's bounds",
  () =>
    fc.assert(
      fc.asyncProperty(steps, (sequence) => runVirtually({ isEmpty: true }, law(sequence))),
      { numRuns: 200 },
    ),
  30_000,
)

engineTest("whoever comes while a commit is under way shares the next one", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const store = new SteppedStore({ ...limits, batchItems: 100, batchBytes: 1 << 20 })
    const { open, push, answered } = yield* queueOver(store.service)
    for (let shard = 0; shard < 4; shard++) open(shard)
    push(0)
    yield* engine.still
    for (let caller = 0; caller < 3; caller++) for (let shard = 0; shard < 4; shard++) push(shard)
    yield* engine.still
    // Shard 0 waits for its commit; the others' callers share one meanwhile.
    const sizes = () => store.written.map((batches) => batches.map(({ items }) => items.length))
    expect(sizes()).toEqual([[1], [3, 3, 3]])
    for (const commit of [...store.commits]) commit.reply("done")
    yield* engine.still
    expect(sizes()).toEqual([[1], [3, 3, 3], [3]])
    for (const commit of [...store.commits]) commit.reply("done")
    yield* engine.still
    expect([...answered.values()].flat().length).toBe(13)
  }),
)

engineTest("what is pushed in one turn shares a commit", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const store = new SteppedStore()
    const { open, push } = yield* queueOver(store.service)
    open(0)
    open(1)
    yield* engine.still
    for (const shard of [0, 1, 0, 1]) push(shard)
    yield* engine.still
    expect(store.written.map((batches) => batches.map(({ items }) => items.length))).toEqual([[2, 2]])
  }),
)

engineTest(
  "a commit whose result is unknown is repeated as it was, as a new call",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const store = new SteppedStore()
      const { open, push, answered } = yield* queueOver(store.service)
      open(0)
      const first = push(0)
      yield* engine.still
      const later = push(0)
      for (let repeat = 0; repeat < 5; repeat++) {
        store.commits[0]?.reply("unknown")
        yield* engine.advance(2_000)
      }
      expect(store.written.length).toBe(6)
      for (const [index, batches] of store.written.entries()) {
        expect(batches).toEqual(store.written[0]?.map((batch) => ({ ...batch, number: index + 1 })) ?? [])
      }
      store.commits[0]?.reply("done")
      yield* engine.still
      store.commits[0]?.reply("done")
      yield* engine.still
      expect(answered.get(0)).toEqual([first ?? "", later ?? ""])
    }),
)

engineTest("a push from within an answer is not answered before its elders", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const { open, push, seen } = yield* queueOver({
      limits,
      write: (batches) => Effect.succeed(batches.map((batch) => answerOf(batch, "done"))),
    })
    open(0)
    yield* engine.still
    const ids: Array<string | undefined> = []
    ids.push(push(0, 0, () => ids.push(push(0))))
    ids.push(push(0))
    yield* engine.still
    expect(seen.get(0)).toEqual(ids.map((id) => id ?? ""))
    expect(ids.length).toBe(3)
  }),
)

engineTest(
  "closing a shard answers all its callers once, and a late reply changes nothing",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const store = new SteppedStore()
      const { queue, open, push, seen, unanswered, notWritten } = yield* queueOver(store.service)
      open(0)
      const underWay = push(0)
      yield* engine.still
      const queued = push(0)
      queue.close(0)
      expect(unanswered).toEqual([underWay ?? ""])
      // It never set out: whoever asked may have another do it.
      expect(notWritten).toEqual([queued ?? ""])
      expect(push(0)).toBeUndefined()
      yield* queue.awaitIdle
      // The next claim opens it anew, while the old commit is still on its way.
      open(0)
      store.commits[0]?.reply("done")
      yield* engine.still
      expect(seen.get(0)).toBeUndefined()
      expect(unanswered.length + notWritten.length).toBe(2)
    }),
)

engineTest(
  "what a commit was refused for was surely not written, unless an earlier call of it failed",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      for (const isTried of [false, true]) {
        const store = new SteppedStore()
        const { open, push, unanswered, notWritten } = yield* queueOver(store.service)
        open(0)
        const id = push(0)
        yield* engine.still
        if (isTried) store.commits[0]?.reply("unknown")
        yield* engine.advance(50)
        store.commits[0]?.reply("ownershipLost")
        yield* engine.still
        expect({ unanswered, notWritten }).toEqual(
          isTried ? { unanswered: [id ?? ""], notWritten: [] } : { unanswered: [], notWritten: [id ?? ""] },
        )
      }
    }),
)

engineTest(
  "a call that is refused as an old one is made again, and the shard is kept",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const store = new SteppedStore()
      const { open, push, answered, unanswered, notWritten } = yield* queueOver(store.service)
      open(0)
      const id = push(0)
      yield* engine.still
      store.commits[0]?.reply("overtaken")
      yield* engine.advance(50)
      store.commits[0]?.reply("done")
      yield* engine.still
      expect(store.written.flat().map(({ number }) => number)).toEqual([1, 2])
      expect(answered.get(0)).toEqual([id ?? ""])
      expect([...unanswered, ...notWritten]).toEqual([])
    }),
)

engineTest(
  "a full queue refuses with Overloaded, and takes again when it has drained",
  { queue: { queuedItems: 2 } },
  (engine) =>
    Effect.gen(function* () {
      const commit = engine.faults.holdCall("write")
      yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 1_000 }))
      yield* Effect.forkChild(engine.create({ timerId: "b", inMs: 1_000 }))
      yield* engine.still
      const refusal = yield* Effect.flip(engine.create({ timerId: "c", inMs: 1_000 }))
      expect(refusal).toMatchObject({ _tag: "Overloaded", retryAfterMs: 1_000 })
      yield* commit.release
      yield* engine.still
      expect((yield* engine.create({ timerId: "c", inMs: 1_000 })).result).toBe("created")
    }),
)

engineTest("writes of one key go one a commit, and keep nobody else's waiting", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const store = new SteppedStore({ ...limits, batchItems: 100, batchBytes: 1 << 20 })
    const { queue, open } = yield* queueOver(store.service)
    open(0)
    const answered: Array<string> = []
    const push = (timerId: string, fireId: string) => {
      const item = samplePut({ timerId, fireId })
      queue.push({ shard: 0, epoch: 1 }, { item, onAnswer: () => answered.push(fireId) })
    }
    for (const [timerId, fireId] of [
      ["a", "a1"],
      ["a", "a2"],
      ["b", "b1"],
      ["a", "a3"],
      ["c", "c1"],
      ["b", "b2"],
    ] as const) {
      push(timerId, fireId)
    }
    for (let commit = 0; commit < 3; commit++) {
      yield* engine.still
      for (const underWay of [...store.commits]) underWay.reply("done")
    }
    yield* engine.still
    expect(answered).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"])
  }),
)

engineTest("a write under another epoch than the lane's is refused", { isEmpty: true }, () =>
  Effect.gen(function* () {
    const { queue, open } = yield* queueOver(new SteppedStore().service)
    open(0)
    const write = { item: samplePut(), onAnswer: () => {} }
    expect(queue.push({ shard: 0, epoch: 2 }, write)).toBe(false)
    expect(queue.push({ shard: 1, epoch: 1 }, write)).toBe(false)
    expect(queue.push({ shard: 0, epoch: 1 }, write)).toBe(true)
  }),
)
