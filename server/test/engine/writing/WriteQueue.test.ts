// Group commit: order within a shard, one commit of a shard at a time, limits of a batch, and answers that come exactly
// once, whatever the store does.
import { expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import fc from "fast-check"
import { itemBytes, keyOfItem, type Put, type WriteItem } from "../../../src/domain/WriteItem.ts"
import { EngineMetrics } from "../../../src/engine/EngineMetrics.ts"
import { WriteQueue, type WrittenStore } from "../../../src/engine/writing/WriteQueue.ts"
import { type BatchAnswer, type ShardBatch, StoreError } from "../../../src/ports/TimerStore.ts"
import { type EngineHarness, engineTest, runVirtually } from "../../../testkit/EngineHarness.ts"
import { runsOf, timeLimitMsOf } from "../../../testkit/effort.ts"
import { samplePut, sampleTimer } from "../../../testkit/timers.ts"

interface Commit {
  readonly batches: ReadonlyArray<ShardBatch>
  readonly reply: (answers: Reply) => void
}

type Reply = "done" | "unknown" | "ownershipLost" | "overtaken"

type Limits = WrittenStore["limits"]

const limits: Limits = {
  batchItems: 5,
  batchBytes: 4_000,
  itemBytes: 10_000,
  concurrentWrites: 3,
  shardsTogether: 3,
}

/** A store whose commits wait until the test replies. It notes calls that break the rules. */
class SteppedStore {
  readonly commits: Array<Commit> = []
  readonly written: Array<ReadonlyArray<ShardBatch>> = []
  readonly wrongs: Array<string> = []
  readonly service: WrittenStore

  constructor(given: Limits = limits) {
    this.service = { limits: given, write: (batches) => this.#write(batches) }
  }

  #write(batches: ReadonlyArray<ShardBatch>): Effect.Effect<ReadonlyArray<BatchAnswer>, StoreError> {
    return Effect.callback((resume) => {
      this.#check(batches)
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

  #check(batches: ReadonlyArray<ShardBatch>): void {
    const { batchItems, batchBytes, concurrentWrites, shardsTogether } = this.service.limits
    const shards = batches.map(({ shard }) => shard)
    const underWay = this.commits.flatMap((commit) => commit.batches.map(({ shard }) => shard))
    const items = batches.flatMap((batch) => batch.items)
    const bytes = items.reduce((sum, item) => sum + itemBytes(item), 0)
    const mustNot = (isWrong: boolean, what: string) => isWrong && this.wrongs.push(what)
    for (const batch of batches) {
      const keys = new Set(batch.items.map((item) => keyOfItem(item).uuid))
      mustNot(
        batch.hasEachKeyOnce === true && keys.size < batch.items.length,
        "a batch that says it has each key once, and has one twice",
      )
    }
    mustNot(
      new Set([...shards, ...underWay]).size < shards.length + underWay.length,
      "two commits of a shard",
    )
    mustNot(items.length === 0 || items.length > batchItems, `a commit of ${items.length} items`)
    mustNot(items.length > 1 && bytes > batchBytes, `a commit of ${bytes} bytes`)
    mustNot(this.commits.length >= concurrentWrites, "too many commits under way")
    mustNot(shards.length > shardsTogether, `a commit of ${shards.length} shards`)
  }
}

const answerOf = ({ items }: ShardBatch, reply: Exclude<Reply, "unknown">): BatchAnswer =>
  reply === "done"
    ? {
        result: "written",
        answers: items.map((item) => ({ result: "created", timer: (item as Put).timer })),
      }
    : { result: reply }

/** A queue over a stepped store. It records what was pushed and answered, by shard. */
const queueOver = Effect.fnUntraced(function* (
  store: WrittenStore,
  queued = { items: 1_000, bytes: 1 << 20 },
  waitMs = 0,
) {
  const metrics = yield* EngineMetrics.make
  const queue = yield* WriteQueue.make(
    store,
    { queuedItems: queued.items, queuedBytes: queued.bytes, waitMs },
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
      onAnswer: (item) => note(seen, shard, keyOfItem(item).timerId),
      onOwnershipLost: () => queue.close(shard),
    })
  const push = (
    shard: number,
    payloadBytes = 0,
    then: () => void = () => {},
    canWait = false,
  ): string | undefined => {
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
        canWait,
      },
    )
    if (isQueued) note(pushed, shard, timerId)
    return isQueued ? timerId : undefined
  }
  const pushPatient = (shard: number, payloadBytes = 0) => push(shard, payloadBytes, undefined, true)
  return { queue, open, push, pushPatient, pushed, seen, answered, unanswered, notWritten }
})

const steps = fc.array(
  fc.record({
    op: fc.constantFrom(
      ...[
        "push",
        "push",
        "patient",
        "patient",
        "stopTaking",
        "burst",
        "reply",
        "reply",
        "unknown",
        "lost",
        "overtaken",
        "close",
        "wait",
      ],
    ),
    shard: fc.nat(3),
    size: fc.nat(2_500),
  }),
  { maxLength: 60 },
)

const law =
  (sequence: ReadonlyArray<{ op: string; shard: number; size: number }>, waitMs: number) =>
  (engine: EngineHarness) =>
    Effect.gen(function* () {
      const store = new SteppedStore()
      const { queue, open, push, pushPatient, pushed, seen, answered, unanswered, notWritten } =
        yield* queueOver(store.service, undefined, waitMs)
      for (let shard = 0; shard < 4; shard++) open(shard)
      for (const { op, shard, size } of sequence) {
        const commit = store.commits[size % Math.max(1, store.commits.length)]
        if (op === "push") push(shard, size)
        if (op === "patient") pushPatient(shard, size)
        if (op === "stopTaking" && size % 4 === 0) queue.stopTaking({ shard, epoch: 1 })
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
  "answers come once and in queue order, one commit of a shard at a time, within the store's limits",
  () =>
    fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(0, 5), (sequence, waitMs) =>
        runVirtually({ isEmpty: true }, law(sequence, waitMs)),
      ),
      { numRuns: runsOf(200) },
    ),
  timeLimitMsOf(30_000),
)

const waitMs = 5

engineTest("writes that can wait share a commit, after 5 ms at most", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const store = new SteppedStore()
    const { queue, open, pushPatient, answered } = yield* queueOver(store.service, undefined, waitMs)
    for (const shard of [0, 1]) open(shard)
    pushPatient(0)
    yield* engine.advance(waitMs - 1)
    pushPatient(1)
    yield* engine.still
    expect(store.commits).toHaveLength(0)
    yield* engine.advance(1)
    expect(store.written.map((parts) => parts.map(({ shard }) => shard).sort())).toEqual([[0, 1]])
    // The next one waits while the commit runs, and after it.
    pushPatient(0)
    store.commits[0]?.reply("done")
    yield* engine.still
    expect(store.written).toHaveLength(1)
    expect(answered.get(0)).toHaveLength(1)
    yield* engine.advance(waitMs)
    store.commits[0]?.reply("done")
    yield* queue.awaitIdle
    expect(store.written).toHaveLength(2)
  }),
)

engineTest("a write that waits does not count as stuck since the last commit", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const clock = yield* Clock.clockWith(Effect.succeed)
    const { queue, open, pushPatient } = yield* queueOver(new SteppedStore().service, undefined, waitMs)
    open(0)
    yield* engine.advance(60_000)
    pushPatient(0)
    expect(queue.stuckSinceNanos).toBe(clock.monotonicTimeNanosUnsafe())
  }),
)

engineTest(
  "writes that can wait go at once with one that cannot, when there are 64, and before a shard is given up",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const store = new SteppedStore({ ...limits, batchItems: 1_000, batchBytes: 1 << 20 })
      const { queue, open, push, pushPatient } = yield* queueOver(store.service, undefined, waitMs)
      const sizes = () => store.written.map((parts) => parts.flatMap(({ items }) => items).length)
      open(0)
      pushPatient(0)
      push(0)
      yield* engine.still
      expect(sizes()).toEqual([2])
      store.commits[0]?.reply("done")
      yield* engine.still
      for (let write = 0; write < 63; write++) pushPatient(0)
      yield* engine.still
      expect(sizes()).toEqual([2])
      pushPatient(0)
      yield* engine.still
      expect(sizes()).toEqual([2, 64])
      store.commits[0]?.reply("done")
      yield* engine.still
      pushPatient(0)
      queue.stopTaking({ shard: 0, epoch: 1 })
      yield* engine.still
      expect(sizes()).toEqual([2, 64, 1])
    }),
)

engineTest(
  "at most 100 answers are passed on before the thread does other work, and a shard that closes meanwhile gets each once",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const store = new SteppedStore({ ...limits, batchItems: 1_000, batchBytes: 1 << 20 })
      const { queue, open, push, pushed, answered, unanswered } = yield* queueOver(store.service)
      open(0)
      let count = 0
      let inFirstTurn = 0
      for (let write = 0; write < 600; write++) {
        push(0, 0, () => {
          count++
          if (count === 1) setImmediate(() => (inFirstTurn = count))
          if (count === 300) queue.close(0)
        })
      }
      yield* engine.still
      for (const commit of [...store.commits]) commit.reply("done")
      yield* engine.still
      expect([inFirstTurn > 0, inFirstTurn <= 100]).toEqual([true, true])
      expect([answered.get(0)?.length, unanswered.length]).toEqual([300, 300])
      expect([...(answered.get(0) ?? []), ...unanswered]).toEqual(pushed.get(0) ?? [])
    }),
)

engineTest("writes that come during a commit share the next one", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    const store = new SteppedStore({ ...limits, batchItems: 100, batchBytes: 1 << 20 })
    const { open, push, answered } = yield* queueOver(store.service)
    for (let shard = 0; shard < 4; shard++) open(shard)
    push(0)
    yield* engine.still
    for (let caller = 0; caller < 3; caller++) for (let shard = 0; shard < 4; shard++) push(shard)
    yield* engine.still
    // Shard 0 waits for its commit. In the meantime the callers of the others share one.
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

engineTest("writes that are pushed in one turn share a commit", { isEmpty: true }, (engine) =>
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

engineTest("a commit whose result is unknown is repeated unchanged", { isEmpty: true }, (engine) =>
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
    for (const batches of store.written) expect(batches).toEqual(store.written[0] ?? [])
    store.commits[0]?.reply("done")
    yield* engine.still
    store.commits[0]?.reply("done")
    yield* engine.still
    expect(answered.get(0)).toEqual([first ?? "", later ?? ""])
  }),
)

engineTest("a push from within an answer is not answered before earlier ones", { isEmpty: true }, (engine) =>
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
      // The write was never sent, so its caller may send it to another node.
      expect(notWritten).toEqual([queued ?? ""])
      expect(push(0)).toBeUndefined()
      yield* queue.awaitIdle
      // The next claim opens the shard again, while the old commit is still on its way.
      open(0)
      store.commits[0]?.reply("done")
      yield* engine.still
      expect(seen.get(0)).toBeUndefined()
      expect(unanswered.length + notWritten.length).toBe(2)
    }),
)

engineTest(
  "a refused commit was certainly not written, unless an earlier call of it failed",
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
  "a call that is refused as outdated is repeated, and the shard is kept",
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
      expect(store.written).toHaveLength(2)
      expect(answered.get(0)).toEqual([id ?? ""])
      expect([...unanswered, ...notWritten]).toEqual([])
    }),
)

engineTest(
  "a full queue refuses with TooManyWrites, and accepts again when it has drained",
  { queue: { queuedItems: 2 } },
  (engine) =>
    Effect.gen(function* () {
      const commit = engine.faults.holdCall("write")
      yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 1_000 }))
      yield* Effect.forkChild(engine.create({ timerId: "b", inMs: 1_000 }))
      yield* engine.still
      const refusal = yield* Effect.flip(engine.create({ timerId: "c", inMs: 1_000 }))
      expect(refusal).toMatchObject({ _tag: "TooManyWrites", retryAfterMs: 1_000 })
      yield* commit.release
      yield* engine.still
      expect((yield* engine.create({ timerId: "c", inMs: 1_000 })).result).toBe("created")
    }),
)

engineTest("a waiting caller gets room when the queue is no longer full", { isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    for (const [queued, payloadBytes] of [
      [{ items: 2, bytes: 1 << 20 }, 0],
      [{ items: 1_000, bytes: 4_000 }, 1_500],
    ] as const) {
      const store = new SteppedStore()
      const { queue, open, push } = yield* queueOver(store.service, queued)
      open(0)
      push(0, payloadBytes)
      yield* queue.awaitRoom
      push(0, payloadBytes)
      const waiting = yield* Effect.forkChild(queue.awaitRoom)
      yield* engine.still
      expect([queue.isFull, waiting.pollUnsafe()]).toEqual([true, undefined])
      store.commits[0]?.reply("done")
      yield* engine.still
      expect([queue.isFull, waiting.pollUnsafe()?._tag]).toEqual([false, "Success"])
    }
  }),
)

engineTest("writes of one key go one a commit, and do not delay other keys", { isEmpty: true }, (engine) =>
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

engineTest(
  "restores of one key go together, a few at a time, and overtake nothing",
  { isEmpty: true },
  (engine) =>
    Effect.gen(function* () {
      const store = new SteppedStore({ ...limits, batchItems: 100, batchBytes: 1 << 20 })
      const { queue, open } = yield* queueOver(store.service)
      open(0)
      const answered: Array<string> = []
      const push = (fireId: string, item: WriteItem) =>
        queue.push({ shard: 0, epoch: 1 }, { item, onAnswer: () => answered.push(fireId) })
      const restore = (timerId: string, fireId: string) =>
        push(fireId, {
          kind: "restore",
          archived: { kind: "pending", timer: sampleTimer({ timerId, fireId }) },
        })
      const pushed = Array.from({ length: 40 }, (_, index) => `a${index}`)
      for (const [index, fireId] of pushed.entries()) {
        if (index === 20) push(fireId, samplePut({ timerId: "a", fireId }))
        else restore("a", fireId)
      }
      restore("b", "b0")
      const sizes: Array<number> = []
      for (let commit = 0; commit < 5; commit++) {
        yield* engine.still
        for (const underWay of [...store.commits]) {
          sizes.push(...underWay.batches.map(({ items }) => items.length))
          underWay.reply("done")
        }
      }
      yield* engine.still
      // Up to the limit, and b. Then up to the put. Then the put alone. Then the rest, within the limit.
      expect(sizes).toEqual([17, 4, 1, 16, 3])
      expect(store.wrongs).toEqual([])
      expect(answered.filter((id) => id !== "b0")).toEqual(pushed)
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

engineTest("creates of one key in one call go one a commit, those of other keys together", {}, (engine) =>
  Effect.gen(function* () {
    const { faults, node } = engine
    const createAll = (timerIds: ReadonlyArray<string>) =>
      node.scheduler.createMany(
        timerIds.map((timerId) => engine.command({ timerId, inMs: 1_000_000, onExisting: "keep" })),
      )
    const before = faults.calls("write")
    const answers = yield* createAll(["a", "b", "a", "a"])
    const results = answers.map((answer) => ("result" in answer ? answer.result : answer._tag))
    expect(results).toEqual(["created", "created", "unchanged", "unchanged"])
    expect(faults.calls("write") - before).toBe(3)
    yield* createAll(["c", "d", "e"])
    expect(faults.calls("write") - before).toBe(4)
  }),
)
