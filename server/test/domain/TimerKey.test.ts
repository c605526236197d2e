import { expect, test } from "bun:test"
import { createHash } from "node:crypto"
import fc from "fast-check"
import { keyOf, shardOf } from "../../src/domain/TimerKey.ts"

test("a key's uuid is the start of SHA-256 over namespace, a zero byte and timerId", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ unit: "grapheme" }), (namespace, timerId) => {
      const bytes = Buffer.concat([Buffer.from(namespace), Buffer.of(0), Buffer.from(timerId)])
      expect(keyOf(namespace, timerId)).toEqual({
        namespace,
        timerId,
        uuid: createHash("sha256").update(bytes).digest().subarray(0, 16).toString("hex"),
      })
    }),
  )
})

test("the zero byte separates namespace and timerId", () => {
  expect(keyOf("ab", "c").uuid).not.toBe(keyOf("a", "bc").uuid)
})

test("a shard is the uuid as one 128-bit number modulo the shard count", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
      fc.integer({ min: 1, max: 4_096 }),
      (number, shards) => {
        expect(shardOf(number.toString(16).padStart(32, "0"), shards)).toBe(Number(number % BigInt(shards)))
      },
    ),
  )
})

test("keys spread evenly over shards", () => {
  const counts = new Array<number>(16).fill(0)
  for (let index = 0; index < 16_000; index++) {
    const shard = shardOf(keyOf("shop", `order-${index}`).uuid, 16)
    counts[shard] = (counts[shard] ?? 0) + 1
  }
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(200)
})
