// When a histogram is counted and when it is estimated, and what it says about nodes that do not answer.
import { describe, expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Histograms, type HistogramsParts } from "../../../src/engine/front/Histograms.ts"
import type { CensusAnswer, CensusQuestion } from "../../../src/ports/CensusCounts.ts"
import { PeerError } from "../../../src/ports/Peers.ts"
import type { CountedBuckets, HistogramQuery } from "../../../src/ports/TimerStore.ts"

const query: HistogramQuery = {
  namespace: "a",
  state: "pending",
  inclusiveFromMs: 1_000,
  exclusiveUntilMs: 3_000,
  buckets: 2,
}
const few: CountedBuckets = { counts: [3, 4], examined: 7, capped: false }
const stopped: CountedBuckets = {
  counts: [100_000, 0],
  examined: 100_000,
  capped: true,
  exclusiveCountedUntilMs: 1_500,
}
const answer = (...counts: ReadonlyArray<number>): CensusAnswer => ({ counts, asOfMs: 77, lacksSome: false })

interface Given extends Partial<HistogramsParts> {
  readonly stored: CountedBuckets
  readonly here?: CensusAnswer | undefined
  readonly isActive?: boolean
}

const histogramOf = (
  { stored, here, isActive = true, ...parts }: Given,
  asked: Partial<HistogramQuery> = {},
) => {
  const calls = { store: 0, questions: [] as Array<CensusQuestion> }
  const histograms = new Histograms({
    store: {
      histogram: () =>
        Effect.sync(() => {
          calls.store++
          return stored
        }),
    },
    wall: { now: () => 99 },
    own: { owns: () => true },
    shards: () => 4,
    census: {
      isActive,
      countsHere: (question) => {
        calls.questions.push(question)
        return Effect.succeed(here)
      },
    },
    cluster: undefined,
    ...parts,
  })
  return { answer: histograms.of({ ...query, ...asked }), calls }
}

const exactly = { counts: [3, 4], isEstimated: false, asOfMs: 99, isCapped: false }
const first = {
  counts: [100_000, 0],
  isEstimated: false,
  asOfMs: 99,
  isCapped: true,
  examined: 100_000,
  countedUntilMs: 1_500,
}

describe("a histogram", () => {
  test("is counted if the store can count it, whatever the census says", async () => {
    const { answer: counted } = histogramOf({ stored: few, here: answer(100, 100) })
    expect(await Effect.runPromise(counted)).toEqual(exactly)
  })

  test("is estimated beyond the limit, and far beyond it nothing is read", async () => {
    const beyond = histogramOf({ stored: stopped, here: answer(60_000, 60_000) })
    const estimate = { counts: [60_000, 60_000], isEstimated: true, asOfMs: 77, isCapped: false }
    expect(await Effect.runPromise(beyond.answer)).toEqual(estimate)
    expect(beyond.calls.store).toBe(1)
    const far = histogramOf({ stored: stopped, here: answer(5_000_000, 0) })
    expect(await Effect.runPromise(far.answer)).toMatchObject({ counts: [5_000_000, 0], isEstimated: true })
    expect(far.calls.store).toBe(0)
  })

  test("stops at the limit if the census is off, not active or empty, or cannot answer the filter", async () => {
    for (const parts of [{ census: undefined }, { isActive: false }, { here: undefined }]) {
      const { answer: counted } = histogramOf({ stored: stopped, here: answer(1, 1), ...parts })
      expect(await Effect.runPromise(counted)).toEqual(first)
    }
    for (const filter of [
      { state: "dead" },
      { state: ["pending", "dead"] },
      { idPrefix: "x" },
      { timerId: "x" },
      { correlationId: "x" },
      { tag: "x" },
      { host: "x" },
      { reason: "x" },
      { error: "5xx" },
      { minLateness: { ms: 1, nowMs: 2 } },
    ] as const) {
      const { answer: counted, calls } = histogramOf({ stored: stopped, here: answer(1, 1) }, filter)
      expect(await Effect.runPromise(counted)).toEqual(first)
      expect(calls.questions).toEqual([])
    }
  })

  test("asks the census for the namespaces of the query, or for all", async () => {
    const span = { from: 1_000, until: 3_000, buckets: 2 }
    for (const [namespace, names] of [
      ["a", ["a"]],
      [{ asked: ["t*"], names: ["t1", "t2"] }, ["t1", "t2"]],
      [{ asked: ["*"], names: [], shards: 4 }, undefined],
    ] as const) {
      const { answer: counted, calls } = histogramOf({ stored: few, here: answer(1, 1) }, { namespace })
      await Effect.runPromise(counted)
      expect(calls.questions).toEqual([names === undefined ? span : { ...span, names }])
    }
  })

  test("takes what covers more while the first pass of the census runs", async () => {
    const until = (countedUntilMs: number) => ({ ...answer(300_000, 0), countedUntilMs })
    const { answer: less } = histogramOf({ stored: stopped, here: until(1_400) })
    expect(await Effect.runPromise(less)).toEqual(first)
    const { answer: more } = histogramOf({ stored: stopped, here: until(2_000) })
    expect(await Effect.runPromise(more)).toMatchObject({
      isEstimated: true,
      isCapped: true,
      countedUntilMs: 2_000,
    })
  })
})

describe("in a cluster", () => {
  const peer = (node: string) => ({ node, address: node })
  const clusterOf = (
    ownerOf: (shard: number) => string | undefined,
    of: (node: string) => Effect.Effect<CensusAnswer | undefined, PeerError>,
  ): Pick<HistogramsParts, "cluster" | "own"> => ({
    own: { owns: (shard) => shard === 0 },
    cluster: {
      view: {
        node: "n0",
        refresh: Effect.void,
        ownerOf: (shard) => {
          const owner = ownerOf(shard)
          return owner === undefined ? undefined : peer(owner)
        },
      },
      censusCounts: { of: ({ node }) => of(node) },
    },
  })

  test("the counts of all owners are added, and the oldest count says as of when", async () => {
    const asked: Array<string> = []
    const cluster = clusterOf(
      (shard) => (shard < 3 ? "n1" : "n2"),
      (node) =>
        Effect.sync(() => {
          asked.push(node)
          return { ...answer(1, 2), asOfMs: node === "n2" ? 11 : 88 }
        }),
    )
    const { answer: counted } = histogramOf({ stored: stopped, here: answer(100_000, 0), ...cluster })
    expect(await Effect.runPromise(counted)).toEqual({
      counts: [100_002, 4],
      isEstimated: true,
      asOfMs: 11,
      isCapped: false,
    })
    expect(asked).toEqual(["n1", "n2"])
  })

  test("nodes that are silent, away or without counts are named, and their timers are left out", () =>
    Effect.gen(function* () {
      const cluster = clusterOf(
        (shard) => `n${shard}`,
        (node) => {
          if (node === "n1") return Effect.never
          if (node === "n2") return Effect.fail(new PeerError({ message: "gone", isUndelivered: true }))
          return Effect.succeed(undefined)
        },
      )
      const { answer: counted } = histogramOf({ stored: stopped, here: answer(5, 5), ...cluster })
      const waiting = yield* Effect.forkChild(counted)
      yield* TestClock.adjust(300)
      expect(yield* Fiber.join(waiting)).toEqual({
        counts: [5, 5],
        isEstimated: true,
        asOfMs: 77,
        isCapped: true,
        missing: ["n1", "n2", "n3"],
      })
    }).pipe(Effect.provide(TestClock.layer()), Effect.scoped, Effect.runPromise))

  test("a shard without an owner makes the estimate incomplete", async () => {
    const cluster = clusterOf(
      () => undefined,
      () => Effect.succeed(undefined),
    )
    const { answer: counted } = histogramOf({ stored: stopped, here: answer(5, 5), ...cluster })
    expect(await Effect.runPromise(counted)).toMatchObject({ isEstimated: true, isCapped: true })
  })
})
