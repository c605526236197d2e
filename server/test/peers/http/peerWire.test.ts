// Calls of other nodes are read in slices, and a call whose form would make reading slow is refused.
import { describe, expect, test } from "bun:test"
import { nextTurn } from "@punctual/api/nextTurn"
import { Effect, Result } from "effect"
import {
  decodeWriteCall,
  decodeWriteReply,
  encodeWriteCall,
  encodeWriteReply,
} from "../../../src/peers/http/peerWire.ts"
import type { CarriedAnswer, CarriedItem } from "../../../src/ports/Peers.ts"
import { samplePut } from "../../../testkit/timers.ts"

const webhook = { type: "webhook", method: "POST", timeoutMs: 15_000, body: "envelope" } as const

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

  test("with a thousand specs is read in slices, and each item gets its own", async () => {
    const sent = putsOf(1_000, 0).map((put, index): CarriedItem => {
      if (put.kind !== "put") return put
      const { spec } = put.timer
      const target = { ...webhook, url: `https://host-${index}.example/${"x".repeat(1_000)}` }
      return { ...put, timer: { ...put.timer, spec: { ...spec, target } } }
    })
    const { items, pauses } = await read(encodeWriteCall(sent))
    expect(items).toEqual(Result.succeed(sent))
    // 1.3 MB of specs are about 40 groups.
    expect(pauses).toBeGreaterThan(40)
  })

  test("is read without waiting for the work of callers", async () => {
    const sent = putsOf(1_000, 100)
    const call = new TextEncoder().encode(encodeWriteCall(sent))
    let served = 0
    const callers = Array.from({ length: 1_000 }, () => nextTurn().then(() => served++))
    expect(await Effect.runPromise(decodeWriteCall(call))).toEqual(Result.succeed(sent))
    // In each turn of the event loop, one of them and one slice of the call run.
    expect(served).toBeLessThan(500)
    await Promise.all(callers)
  })

  test("that is small is read at once", async () => {
    const sent = putsOf(3, 100)
    expect(await read(encodeWriteCall(sent))).toEqual({ items: Result.succeed(sent), pauses: 0 })
  })

  test("with a spec that cannot be read is refused, and the message says which", async () => {
    const call = encodeWriteCall(putsOf(2, 10))
    const wrong = call.replace(/"specs":\[/, '"specs":[{"target":1},')
    const { items } = await read(wrong)
    expect(items).toMatchObject({ failure: expect.stringContaining("/specs/0") })
    expect(Result.isFailure((await read(call.replace('"specs"', '"spex"'))).items)).toBe(true)
    expect(Result.isFailure((await read('{"specs":{},"items":[]}')).items)).toBe(true)
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
    const specs = `{"items":[],"specs":[${new Array(290_000).fill("{}").join(",")}]}`
    expect((await read(specs)).items).toEqual(Result.fail("/specs must have at most 1000 elements"))
    const fields = Array.from({ length: 149_000 }, (_, index) => `"f${index}":1`).join(",")
    for (const text of [`{${fields},"specs":[],"items":[]}`, `{"specs":[{${fields}}],"items":[]}`]) {
      const refused = "it must have at most 5000 fields and elements (this limit is fixed)"
      expect((await read(text)).items).toEqual(Result.fail(refused))
    }
  })
})

describe("a reply", () => {
  const items = putsOf(100, 10)
  const answers = items.map(
    (item): CarriedAnswer =>
      item.kind === "put"
        ? { kind: "answered", answer: { result: "created", timer: item.timer } }
        : { kind: "unknown" },
  )
  const text = encodeWriteReply(answers)

  test("is read in slices, and other work runs in between", async () => {
    let nowMs = 0
    let turns = 0
    let isOver = false
    const otherWork = (): void => {
      if (isOver) return
      turns++
      setImmediate(otherWork)
    }
    setImmediate(otherWork)
    // Each look at the clock takes a whole slice.
    const reading = decodeWriteReply(text, items, () => (nowMs += 10))
    expect(await Effect.runPromise(reading)).toEqual(Result.succeed(answers))
    isOver = true
    expect(turns).toBeGreaterThan(5)
  })

  test("is read without waiting for the work of callers", async () => {
    let served = 0
    const callers = Array.from({ length: 300 }, () => nextTurn().then(() => served++))
    let nowMs = 0
    const reading = decodeWriteReply(text, items, () => (nowMs += 10))
    expect(await Effect.runPromise(reading)).toEqual(Result.succeed(answers))
    // In each turn of the event loop, one of them and one slice of the reply run.
    expect(served).toBeLessThan(150)
    await Promise.all(callers)
  })

  test("with an answer that cannot be read is refused, and the message says which", async () => {
    const wrong = text.replace('"result":"created"', '"result":"lost"')
    const read = await Effect.runPromise(decodeWriteReply(wrong, items))
    expect(read).toMatchObject({ failure: expect.stringContaining("/answers/0") })
    const short = await Effect.runPromise(decodeWriteReply(text, items.slice(1)))
    expect(short).toEqual(Result.fail("the number of answers differs from the number of items"))
  })
})
