import { describe, expect, test } from "bun:test"
import { TurnBudget } from "../../src/listener/TurnBudget.ts"

/** A budget whose turns begin when the test says so. */
const budget = (unitsPerTurn: number) => {
  const begins: Array<() => void> = []
  let nowMs = 0
  const turn = new TurnBudget({
    unitsPerTurn,
    turnMs: 3,
    nowMs: () => nowMs,
    after: (begin) => begins.push(begin),
  })
  return {
    turn,
    begin: () => begins.shift()?.(),
    pass: (ms: number) => {
      nowMs += ms
    },
    get queued() {
      return begins.length
    },
  }
}

describe("the budget of a turn", () => {
  test("is spent by units or by time, and is full again in the next turn", () => {
    const { turn, begin, pass } = budget(10)
    turn.spend(9)
    expect(turn.isSpent).toBe(false)
    turn.spend(1)
    expect(turn.isSpent).toBe(true)
    begin()
    expect(turn.isSpent).toBe(false)
    turn.spend(1)
    pass(3)
    expect(turn.isSpent).toBe(true)
  })

  test("counts what was spent beyond it in the next turns", () => {
    const { turn, begin } = budget(10)
    turn.spend(35)
    for (const isSpent of [true, true, false]) {
      begin()
      expect(turn.isSpent).toBe(isSpent)
    }
    turn.spend(5)
    expect(turn.isSpent).toBe(true)
  })

  test("lets groups take turns, and runs only as much work in a turn as the budget allows", () => {
    const { turn, begin } = budget(3)
    const ran: Array<string> = []
    for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) {
      turn.defer(name.slice(0, 1), () => {
        ran.push(name)
        turn.spend(1)
      })
    }
    begin()
    expect(ran).toEqual(["a1", "b1", "c1"])
    begin()
    expect(ran.slice(3)).toEqual(["a2", "b2", "a3"])
    begin()
    expect(ran.slice(6)).toEqual(["a4"])
  })

  test("runs work that defers itself only once in a turn, and queues no turn for nothing", () => {
    const scene = budget(3)
    let runs = 0
    const work = () => {
      runs++
      if (runs < 3) scene.turn.defer("a", work)
    }
    scene.turn.defer("a", work)
    scene.begin()
    expect(runs).toBe(1)
    scene.begin()
    scene.begin()
    expect([runs, scene.queued]).toEqual([3, 0])
  })

  test("forgets work", () => {
    const { turn, begin } = budget(3)
    const never = () => {
      throw new Error("must not run")
    }
    turn.defer("a", never)
    turn.forget("a", never)
    begin()
  })
})
