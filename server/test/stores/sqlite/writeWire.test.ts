// What the engine's thread and the writer's thread send each other.
import { describe, expect, test } from "bun:test"
import { packBatches, unpackBatches } from "../../../src/stores/sqlite/writeWire.ts"
import { putOf, sampleTimer } from "../../../testkit/timers.ts"

describe("a batch that arrives at the writer", () => {
  const payload = new Uint8Array(60_000).fill(7)
  const timers = ["a", "b", "c"].map((timerId) => sampleTimer({ timerId, payload }))
  const pack = packBatches([{ shard: 1, epoch: 2, items: timers.map((timer) => putOf(timer)) }])

  test("has the same items", () => {
    const [batch] = unpackBatches(pack)
    expect(batch).toEqual({
      shard: 1,
      epoch: 2,
      hasEachKeyOnce: false,
      items: timers.map((timer) => putOf(timer)),
    })
  })

  test("needs the memory of its payloads once", () => {
    const buffers = unpackBatches(pack)
      .flatMap(({ items }) => items)
      .map((item) => (item.kind === "put" ? item.timer.payload?.buffer : undefined))
    expect(buffers.every((buffer) => buffer === pack.bytes.buffer)).toBe(true)
  })
})
