import { expect, test } from "bun:test"
import { type Turn, type TurnBounds, TurnQueue } from "../../src/execution/TurnQueue.ts"

const bounds: TurnBounds = {
  atOnce: 4,
  atOncePerTenant: 2,
  atOncePerHost: 1,
  waiting: 6,
  waitingPerTenant: 4,
}

const turn = (tenantId: string, attemptId: string, host = attemptId): Turn => ({ tenantId, attemptId, host })
const all = (queue: TurnQueue<Turn>) => {
  const taken: Array<Turn> = []
  for (let next = queue.next(); next !== undefined; next = queue.next()) taken.push(next)
  return taken
}

test("tenants take turns, and no tenant has more than its share", () => {
  const queue = new TurnQueue<Turn>(bounds)
  for (const id of ["1", "2", "3", "4"]) queue.offer(turn("a", id))
  queue.offer(turn("b", "5"))
  const taken = all(queue)
  expect(taken.map(({ attemptId }) => attemptId)).toEqual(["1", "5", "2"])
  expect([queue.running, queue.waiting]).toEqual([3, 2])
  for (const one of taken) queue.finish(one)
  expect(all(queue).map(({ attemptId }) => attemptId)).toEqual(["3", "4"])
})

test("a host of a tenant has its share, and other hosts of the tenant go on", () => {
  const queue = new TurnQueue<Turn>(bounds)
  queue.offer(turn("a", "1", "slow"))
  queue.offer(turn("a", "2", "slow"))
  queue.offer(turn("a", "3", "quick"))
  queue.offer(turn("b", "4", "slow"))
  const taken = all(queue)
  expect(taken.map(({ attemptId }) => attemptId).sort()).toEqual(["1", "3", "4"])
})

test("all together have a limit, also if each tenant is below its own", () => {
  const queue = new TurnQueue<Turn>(bounds)
  for (const id of ["1", "2", "3", "4", "5", "6"]) queue.offer(turn(`tenant-${id}`, id))
  expect(all(queue)).toHaveLength(4)
})

test("what does not fit is refused, and what waits or runs already is not added again", () => {
  const queue = new TurnQueue<Turn>(bounds)
  for (const id of ["1", "2", "3", "4"]) expect(queue.offer(turn("a", id))).toBe(true)
  expect(queue.offer(turn("a", "5"))).toBe(false)
  expect(queue.offer(turn("b", "6"))).toBe(true)
  expect(queue.offer(turn("c", "7"))).toBe(true)
  expect(queue.offer(turn("d", "8"))).toBe(false)
  expect(queue.offer(turn("a", "1"))).toBe(true)
  expect(queue.waiting).toBe(6)
  const first = queue.next()
  if (first === undefined) throw new Error("nothing is next")
  expect(queue.offer(first)).toBe(true)
  expect([queue.running, queue.waiting]).toEqual([1, 5])
})
