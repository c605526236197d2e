import { describe, expect, test } from "bun:test"
import {
  madeCorrelationId,
  wordOfCorrelation,
  wordRowsOfLife,
  wordRowsOfTimer,
} from "../../src/domain/words.ts"
import { fullLife, sampleId, sampleNow, sampleTimer } from "../../testkit/timers.ts"

describe("words", () => {
  test("are the tags, and a correlation id that a caller gave", () => {
    const timer = sampleTimer({ tags: ["a", "b"], correlationId: "a", fireAt: sampleNow })
    const { fireId, revision } = timer
    const place = { state: "pending" as const, atMs: sampleNow, fireId, revision }
    expect(wordRowsOfTimer(timer)).toEqual([
      { word: "t:a", ...place },
      { word: "t:b", ...place },
      { word: "c:a", ...place },
    ])
    const life = { ...fullLife("dead"), tags: ["a"], correlationId: "b" }
    expect(wordRowsOfLife(life).map(({ word, state, atMs }) => [word, state, atMs])).toEqual([
      ["t:a", "dead", life.finishedAt],
      ["c:b", "dead", life.finishedAt],
    ])
  })

  test("of a timer without tags, whose correlation id the service made, are empty", () => {
    const correlationId = madeCorrelationId(sampleId())
    expect(correlationId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    expect(wordRowsOfTimer(sampleTimer({ correlationId }))).toEqual([])
  })

  test("include each tag once, also if an edited archive has one twice, or one that is too long for an index", () => {
    const timer = sampleTimer({
      tags: ["a", "b", "a", "x".repeat(3_000)],
      correlationId: madeCorrelationId(sampleId()),
    })
    expect(wordRowsOfTimer(timer).map(({ word }) => word)).toEqual(["t:a", "t:b"])
  })

  test("are bounded, and ids of other forms count as the caller's", () => {
    expect(wordOfCorrelation("a".repeat(255))).toBe(`c:${"a".repeat(255)}`)
    expect(wordOfCorrelation("a".repeat(256))).toBeUndefined()
    for (const id of [sampleId(), "8", `${"a".repeat(14)}8${"a".repeat(21)}`]) {
      expect(wordOfCorrelation(id)).toBe(`c:${id}`)
    }
  })
})
