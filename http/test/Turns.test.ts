import { describe, expect, test } from "bun:test"
import { Turns } from "../src/Turns.ts"

const options = { atOnce: 2, waitingMax: 2, waitAtMostMs: 60_000 }

/** Work that ends when the test says so. */
const pieces = (turns: Turns) => {
  const begun: Array<number> = []
  const ends: Array<() => void> = []
  const begin = (piece: number, group = "a"): Promise<string> =>
    turns.run(
      group,
      () => {
        begun.push(piece)
        const { promise, resolve } = Promise.withResolvers<string>()
        ends[piece] = () => resolve(`done ${piece}`)
        return promise
      },
      () => `refused ${piece}`,
    )
  return { begun, begin, end: (piece: number) => ends[piece]?.() }
}

describe("turns", () => {
  test("only a few pieces run at a time, the others in the order in which they came", async () => {
    const { begun, begin, end } = pieces(new Turns(options))
    const results = [0, 1, 2, 3].map((piece) => begin(piece))
    await Promise.resolve()
    expect(begun).toEqual([0, 1])
    end(1)
    expect(await results[1]).toBe("done 1")
    await Promise.resolve()
    expect(begun).toEqual([0, 1, 2])
    end(0)
    end(2)
    await results[0]
    await results[2]
    end(3)
    expect(await results[3]).toBe("done 3")
    expect(begun).toEqual([0, 1, 2, 3])
  })

  test("the groups take turns, however much work one of them has", async () => {
    const { begun, begin, end } = pieces(new Turns({ ...options, atOnce: 1, waitingMax: 10 }))
    const groups = ["a", "a", "a", "a", "b", "b", "c"]
    const results = groups.map((group, piece) => begin(piece, group))
    for (const piece of [0, 1, 4, 6, 2, 5, 3]) {
      await Promise.resolve()
      expect(begun.at(-1)).toBe(piece)
      end(piece)
      expect(await results[piece]).toBe(`done ${piece}`)
    }
  })

  test("if too many wait, the group with the most gives way to groups with fewer", async () => {
    const { begun, begin, end } = pieces(new Turns({ ...options, atOnce: 1, waitingMax: 3 }))
    const results = ["a", "a", "a", "a", "a", "b", "c", "c"].map((group, piece) => begin(piece, group))
    expect(await results[4]).toBe("refused 4")
    expect(await results[3]).toBe("refused 3")
    expect(await results[2]).toBe("refused 2")
    expect(await results[7]).toBe("refused 7")
    for (const piece of [0, 1, 5, 6]) {
      await Promise.resolve()
      expect(begun.at(-1)).toBe(piece)
      end(piece)
      expect(await results[piece]).toBe(`done ${piece}`)
    }
  })

  test("a turn ends only after its rest, and the result does not wait for it", async () => {
    const turns = new Turns({ ...options, atOnce: 1 })
    const never = () => "refused"
    let hasBegun = false
    const first = turns.run(
      "a",
      async () => "first",
      never,
      () => 20,
    )
    const second = turns.run(
      "a",
      async () => {
        hasBegun = true
        return "second"
      },
      never,
    )
    expect(await first).toBe("first")
    expect(hasBegun).toBe(false)
    expect(await second).toBe("second")
  })

  test("rests follow one another, so that the next pieces begin one by one", async () => {
    let nowMs = 100
    const ends: Array<{ readonly atMs: number; readonly run: () => void }> = []
    const clock = {
      nowMs: () => nowMs,
      after: (ms: number, run: () => void) => ends.push({ atMs: nowMs + ms, run }),
    }
    const turns = new Turns({ ...options, atOnce: 3 }, clock)
    const rest = async (restMs: number) =>
      turns.run(
        "a",
        async () => "done",
        () => "refused",
        () => restMs,
      )
    await Promise.all([rest(30), rest(20), rest(0.5)])
    expect(ends.map(({ atMs }) => atMs)).toEqual([130, 150])
    // After a pause the rests begin again from now.
    for (const { run } of ends.splice(0)) run()
    nowMs = 1_000
    await rest(10)
    expect(ends.map(({ atMs }) => atMs)).toEqual([1_010])
  })

  test("a piece is refused if too many wait", async () => {
    const { begin, end } = pieces(new Turns(options))
    const results = [0, 1, 2, 3].map((piece) => begin(piece))
    expect(await begin(4)).toBe("refused 4")
    for (const piece of [0, 1, 2, 3]) {
      await Promise.resolve()
      end(piece)
      await results[piece]
    }
  })

  test("a piece that waits too long is refused, and its turn is not lost", async () => {
    const { begun, begin, end } = pieces(new Turns({ ...options, atOnce: 1, waitAtMostMs: 1 }))
    const first = begin(0)
    expect(await begin(1)).toBe("refused 1")
    end(0)
    await first
    const next = begin(2)
    await Promise.resolve()
    end(2)
    expect(await next).toBe("done 2")
    expect(begun).toEqual([0, 2])
  })

  test("a piece that fails ends its turn", async () => {
    const turns = new Turns({ ...options, atOnce: 1 })
    const failed = turns.run(
      "a",
      () => Promise.reject(new Error("broken")),
      () => "refused",
    )
    expect(failed).rejects.toThrow("broken")
    expect(await turns.run("a", async () => "done", String)).toBe("done")
  })
})
