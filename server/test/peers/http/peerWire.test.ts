// Calls of other nodes are read in slices, and a call whose form would make reading slow is refused.
import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { decodeWriteCall, encodeWriteCall } from "../../../src/peers/http/peerWire.ts"
import type { CarriedItem } from "../../../src/ports/Peers.ts"
import { samplePut } from "../../../testkit/timers.ts"

const read = async (text: string) => {
  let pauses = 0
  const pause = async () => {
    pauses++
  }
  const items = await Effect.runPromise(decodeWriteCall(new TextEncoder().encode(text), pause))
  return { items, pauses }
}

const putsOf = (count: number, payloadBytes: number): ReadonlyArray<CarriedItem> =>
  Array.from({ length: count }, (_, index) =>
    samplePut({ timerId: `t-${index}`, payload: new Uint8Array(payloadBytes).fill(0x31 + (index % 8)) }),
  )

describe("a write call", () => {
  test("with a thousand items and megabytes of payloads is read in slices", async () => {
    const sent = putsOf(1_000, 5_000)
    const { items, pauses } = await read(encodeWriteCall(sent))
    expect(items).toEqual(Result.succeed(sent))
    // 7 MB are about 55 slices of the scan and 200 groups of items.
    expect(pauses).toBeGreaterThan(200)
  })

  test("with one item that cannot be read is refused as a whole", async () => {
    const text = encodeWriteCall(putsOf(3, 10)).replace('"kind":"put"', '"kind":"pet"')
    expect(Result.isFailure((await read(text)).items)).toBe(true)
  })

  test("with a payload that is not base64 is refused", async () => {
    const call = encodeWriteCall(putsOf(1, 30))
    for (const wrong of ["MTEx$TEx", "MTExMTE", "=MTE", "MT=x", "MTE=MTEx"]) {
      const text = call.replace(/"payload":"[^"]*"/, `"payload":${JSON.stringify(wrong)}`)
      expect([wrong, Result.isFailure((await read(text)).items)]).toEqual([wrong, true])
    }
  })

  test("with too many items or nested too deeply is refused before it is parsed", async () => {
    const many = `{"specs":[],"items":[${new Array(1_001).fill("{}").join(",")}]}`
    expect((await read(many)).items).toEqual(Result.fail("/items must have at most 1000 elements"))
    const deep = `{"specs":[],"items":[${"[".repeat(100_000)}]}`
    expect((await read(deep)).items).toEqual(
      Result.fail("it must not be nested deeper than 64 levels (this limit is fixed)"),
    )
    const values = `{"specs":[],"items":[[${new Array(1_000_001).fill("0").join(",")}]]}`
    expect((await read(values)).items).toMatchObject({ failure: expect.stringContaining("1000000") })
    expect((await read("{")).items).toEqual(Result.fail("it is not JSON"))
  })
})
