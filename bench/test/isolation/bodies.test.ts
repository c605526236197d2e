import { describe, expect, test } from "bun:test"
import { type BodyKind, bodyKinds, hostileBody } from "../../src/isolation/bodies.ts"

const bytes = 600_000

const parsed = (kind: BodyKind) => JSON.parse(hostileBody(kind, bytes))

describe("hostile bodies", () => {
  for (const kind of bodyKinds) {
    test(`${kind}: is JSON and nearly as long as asked, but never longer`, () => {
      const text = hostileBody(kind, bytes)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bytes)
      expect(Buffer.byteLength(text)).toBeGreaterThan(bytes * 0.98)
      expect(() => JSON.parse(text)).not.toThrow()
    })
  }

  test("have the parts that cost most", () => {
    expect(Object.keys(parsed("unknownFields")).length).toBeGreaterThan(bytes / 13)
    expect(parsed("emptyObjects").timers.length).toBeGreaterThan(bytes / 3.1)
    const [listed] = parsed("longLists").timers
    expect(listed.tags.length).toBeGreaterThan(30)
    expect(listed.retryPolicy.waits.length).toBeGreaterThan(30)
    expect(parsed("largePayloads").timers).toHaveLength(1_000)
    const depth = /\[+/.exec(hostileBody("deepPayloads", bytes).slice('{"timers":['.length))?.[0].length
    expect(depth).toBeGreaterThan(200)
  })

  test("with timers have a new id each time, because they name none", () => {
    for (const kind of ["deepPayloads", "longLists", "largePayloads"] as const)
      expect(parsed(kind).timers[0]).not.toHaveProperty("timerId")
  })
})
