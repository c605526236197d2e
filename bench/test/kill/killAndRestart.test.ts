import { describe, expect, test } from "bun:test"
import { joined } from "../../src/kill/killAndRestart.ts"

const killedAtMs = 1_000
const endMs = 2_000

/** Due times and deliveries by id. */
const join = (
  due: Record<string, number>,
  first: ReadonlyArray<readonly [string, number]>,
  second: ReadonlyArray<readonly [string, number]>,
) =>
  joined(
    Object.entries(due).map(([id, dueAtMs]) => ({ id, dueAtMs })),
    first.map(([id, atMs]) => ({ id, atMs })),
    second.map(([id, atMs]) => ({ id, atMs })),
    killedAtMs,
    endMs,
  )

describe("the cost of a kill", () => {
  test("does not count timers delivered before it, and counts those due after it", () => {
    expect(join({ before: 900, after: 1_100 }, [["before", 901]], [["after", 1_350]])).toEqual({
      latenessMs: [250],
      undelivered: 0,
      repeated: 0,
    })
  })

  test("counts timers that were due before and had not arrived from their own due time", () => {
    expect(join({ stuck: 990 }, [], [["stuck", 1_400]]).latenessMs).toEqual([410])
  })

  test("counts timers that never arrived as late by the whole time, and says how many there are", () => {
    expect(join({ lost: 1_200, late: 1_300 }, [], [["late", 2_500]])).toEqual({
      latenessMs: [800, 700],
      undelivered: 2,
      repeated: 0,
    })
  })

  test("counts deliveries after the first as repeats, and takes the lateness from the first", () => {
    const result = join(
      { twice: 1_100, again: 950 },
      [["again", 955]],
      [
        ["twice", 1_120],
        ["twice", 1_500],
        ["again", 1_200],
      ],
    )
    expect(result).toEqual({ latenessMs: [20], undelivered: 0, repeated: 2 })
  })
})
