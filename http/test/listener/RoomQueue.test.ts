import { describe, expect, test } from "bun:test"
import { RoomQueue } from "../../src/listener/RoomQueue.ts"

/** Groups that count how often they are examined. `old` of their connections can be given up. */
const groupsOf = (sizes: ReadonlyArray<readonly [open: number, old: number]>) => {
  const groups = sizes.map(([open, old], index) => ({ index, open, old }))
  const seen = { examined: 0, gaveUp: [] as Array<number> }
  const giveUp = (group: (typeof groups)[number]): boolean => {
    seen.examined++
    if (group.old === 0) return false
    group.old--
    group.open--
    seen.gaveUp.push(group.index)
    return true
  }
  return { groups, seen, giveUp }
}

describe("room for a new connection", () => {
  test("comes from the largest group, until others are as large", () => {
    const { groups, seen, giveUp } = groupsOf([
      [2, 2],
      [4, 4],
      [1, 1],
    ])
    const queue = new RoomQueue(groups)
    for (let taken = 0; taken < 7; taken++) expect(queue.makeRoom(giveUp)).toBe(true)
    expect(seen.gaveUp.slice(0, 2)).toEqual([1, 1])
    expect(seen.gaveUp.slice(2, 4).sort()).toEqual([0, 1])
    expect(queue.makeRoom(giveUp)).toBe(false)
  })

  test("costs little, however many groups there are", () => {
    const { groups, seen, giveUp } = groupsOf(
      Array.from({ length: 10_000 }, (_, index) => [1, index % 10 === 0 ? 1 : 0] as const),
    )
    const queue = new RoomQueue(groups)
    let made = 0
    for (let asked = 0; asked < 2_000; asked++) made += Number(queue.makeRoom(giveUp))
    expect([made, seen.examined]).toEqual([1_000, 10_000])
  })
})
