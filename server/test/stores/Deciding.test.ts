// What the steps of a write do besides the laws that every store shares.
import { describe, expect, test } from "bun:test"
import { nothingKnown } from "../../src/domain/Decision.ts"
import { Deciding, WriteGivenUp, WriteMemory } from "../../src/stores/Deciding.ts"
import { cancelOf, changeOf, putOf, samplePut, sampleTimer } from "../../testkit/timers.ts"

const limits = { itemBytes: 1 << 20, batchBytes: 4 << 20 }

describe("the numbers of commits", () => {
  test("grow by shard and epoch, and begin again with the next epoch", () => {
    const memory = new WriteMemory()
    expect([memory.nextNumber(0, 1), memory.nextNumber(0, 1), memory.nextNumber(1, 1)]).toEqual([1, 2, 1])
    expect([memory.nextNumber(0, 2), memory.nextNumber(0, 2)]).toEqual([1, 2])
  })

  test("continue after a late call of an older epoch", () => {
    const memory = new WriteMemory()
    for (let count = 0; count < 5; count++) memory.nextNumber(0, 3)
    memory.nextNumber(0, 1)
    expect(memory.nextNumber(0, 3)).toBe(6)
  })
})

describe("the looks of a write", () => {
  test("are bounded: many keys are looked at in several steps, each once", () => {
    const items = Array.from({ length: 1_000 }, () => cancelOf(sampleTimer()))
    const deciding = new Deciding([{ shard: 0, epoch: 1, items }], new WriteMemory(), limits)
    const seen = new Set<string>()
    let step = deciding.step()
    for (; step.kind === "look"; step = deciding.step()) {
      expect(step.looks.length).toBeLessThanOrEqual(128)
      for (const { key } of step.looks) seen.add(key.uuid)
      deciding.looked(step.looks.map(() => nothingKnown))
    }
    expect(seen.size).toBe(1_000)
    expect(step.kind).toBe("commit")
  })

  test("bring no more payloads than a commit may hold, and the rest goes into the next commit", () => {
    const payload = new Uint8Array(1 << 20)
    const timers = Array.from({ length: 100 }, () => sampleTimer({ payload }))
    const items = timers.map((timer) => changeOf(timer, { executeAt: timer.executeAt + 1 }))
    const byKey = new Map(timers.map((timer) => [timer.uuid, timer]))
    const deciding = new Deciding([{ shard: 0, epoch: 1, items }], new WriteMemory(), limits)
    const changesOfCommits: Array<number> = []
    let looked = 0
    for (let step = deciding.step(); step.kind !== "done"; step = deciding.step()) {
      if (step.kind === "look") {
        looked += step.looks.length
        deciding.looked(step.looks.map(({ key }) => ({ pending: byKey.get(key.uuid), last: undefined })))
      } else {
        changesOfCommits.push(step.commits[0]?.changes.length ?? 0)
        deciding.committed([{ result: "committed", missed: [], refused: [] }])
      }
    }
    expect(looked).toBe(100)
    expect(changesOfCommits.reduce((sum, changes) => sum + changes)).toBe(100)
    // The first look is made before any size is known. After it, a commit ends at the look that reaches 4 MiB.
    expect(changesOfCommits[0]).toBe(32)
    expect(Math.max(...changesOfCommits.slice(1))).toBeLessThanOrEqual(16)
    expect(changesOfCommits.at(-2)).toBeLessThanOrEqual(4)
  })

  test("come first for an item behind another of its key in the same write", () => {
    const timer = sampleTimer()
    const items = [
      putOf(timer),
      putOf({ ...timer, fireId: sampleTimer().fireId, executeAt: timer.executeAt + 1 }),
    ]
    const deciding = new Deciding([{ shard: 0, epoch: 1, items }], new WriteMemory(), limits)
    const kinds: Array<string> = []
    for (let step = deciding.step(); step.kind !== "done"; step = deciding.step()) {
      kinds.push(step.kind)
      if (step.kind === "look") deciding.looked([{ pending: timer, last: undefined }])
      else deciding.committed([{ result: "committed", missed: [], refused: [] }])
    }
    expect(kinds).toEqual(["commit", "look", "commit"])
  })

  test("come first once many creates found used keys, and not any more once few do", () => {
    const memory = new WriteMemory()
    const puts = Array.from({ length: 10 }, () => samplePut())
    const kindOfFirstStep = (isUsed: boolean) => {
      const deciding = new Deciding([{ shard: 0, epoch: 1, items: puts }], memory, limits)
      const first = deciding.step()
      let missed = isUsed ? puts.map((_, index) => index) : []
      for (let step = first; step.kind !== "done"; step = deciding.step()) {
        if (step.kind === "look") {
          deciding.looked(
            puts.map(({ timer }) => (isUsed ? { pending: timer, last: undefined } : nothingKnown)),
          )
        } else {
          const { length } = step.commits[0]?.changes ?? []
          deciding.committed([{ result: "committed", missed: missed.slice(0, length), refused: [] }])
          missed = []
        }
      }
      return first.kind
    }
    expect([false, true, true, false, false].map(kindOfFirstStep)).toEqual([
      "commit",
      "commit",
      "look",
      "look",
      "commit",
    ])
  })
})

test("a change that misses is looked at again, and a row that keeps changing makes the write fail", () => {
  const items = [samplePut()]
  const deciding = new Deciding([{ shard: 0, epoch: 1, items }], new WriteMemory(), limits)
  let [commits, looks] = [0, 0]
  const run = () => {
    for (let step = deciding.step(); step.kind !== "done"; step = deciding.step()) {
      if (step.kind === "look") {
        looks++
        deciding.looked([nothingKnown])
      } else {
        commits++
        deciding.committed([{ result: "committed", missed: [0], refused: [] }])
      }
    }
  }
  expect(run).toThrow(WriteGivenUp)
  expect({ commits, looks }).toEqual({ commits: 4, looks: 3 })
})
