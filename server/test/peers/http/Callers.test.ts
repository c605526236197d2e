// Which calls of other nodes are new. The memory is bounded and never takes a repeat for a new call.
import { describe, expect, test } from "bun:test"
import { Callers } from "../../../src/peers/http/Callers.ts"
import { SeededRandom } from "../../../testkit/SeededRandom.ts"

const validForMs = 60_000
const callersWith = (options: { callersMax?: number; numbersMax?: number } = {}) =>
  new Callers({ callersMax: 3, numbersMax: 8, validForMs, ...options })

describe("the calls of one caller", () => {
  test("are each new once, and the numbers that it has given up are refused", () => {
    const callers = callersWith()
    const note = (number: number, lowest: number) => callers.note(`a ${number} ${lowest}`, 0, 0)
    expect([note(5, 5), note(7, 6), note(6, 6), note(5, 5), note(6, 6), note(7, 7)]).toEqual([
      "new",
      "new",
      "new",
      "givenUp",
      "repeated",
      "repeated",
    ])
    expect(callers.note("b 5 5", 0, 0)).toBe("new")
  })

  test("must be named completely", () => {
    const callers = callersWith()
    for (const header of ["", "a", "a 1", "a 1 1 1", "a b 1", "a 1 x", ` a 1 1`, `${"a".repeat(65)} 1 1`]) {
      expect(callers.note(header, 0, 0)).toBe("malformed")
    }
  })

  test("are never taken for new twice, however many come and in whatever order", () => {
    const random = new SeededRandom(7)
    const callers = callersWith()
    const taken = new Set<number>()
    for (let call = 0; call < 5_000; call++) {
      const number = 1 + Math.floor(call / 4) + random.below(20)
      const verdict = callers.note(`a ${number} ${Math.max(1, number - 15)}`, 0, 0)
      if (verdict !== "new") continue
      expect(taken.has(number)).toBe(false)
      taken.add(number)
    }
    expect(taken.size).toBeGreaterThan(1_000)
  })

  test("that all still wait are more than it remembers: the lowest are refused, not repeated", () => {
    const callers = callersWith()
    for (let number = 1; number <= 9; number++) expect(callers.note(`a ${number} 1`, 0, 0)).toBe("new")
    expect(callers.note("a 2 1", 0, 0)).toBe("givenUp")
    expect(callers.note("a 9 1", 0, 0)).toBe("repeated")
    expect(callers.note("a 10 1", 0, 0)).toBe("new")
  })
})

describe("many callers", () => {
  test("make room for another one only if no call of the oldest could be repeated any more", () => {
    const callers = callersWith()
    for (const name of ["a", "b", "c"]) expect(callers.note(`${name} 1 1`, 1_000, 1_000)).toBe("new")
    expect(callers.note("d 1 1", 61_000, 61_000)).toBe("tooManyCallers")
    expect(callers.note("a 1 1", 1_000, 61_000)).toBe("repeated")
    expect(callers.note("d 1 1", 61_001, 61_001)).toBe("new")
    // The one that was silent for longest was forgotten. The others are known.
    expect(callers.note("a 1 1", 1_000, 61_001)).toBe("repeated")
    expect(callers.note("c 1 1", 1_000, 61_001)).toBe("repeated")
  })

  test("count by the time of their signatures, also if their clocks are ahead", () => {
    const callers = callersWith({ callersMax: 1 })
    expect(callers.note("a 1 1", 30_000, 0)).toBe("new")
    expect(callers.note("b 1 1", 80_000, 80_000)).toBe("tooManyCallers")
    expect(callers.note("b 1 1", 90_001, 90_001)).toBe("new")
  })
})
