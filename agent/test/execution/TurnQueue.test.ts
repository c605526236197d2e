import { expect, test } from "bun:test"
import { defaultTurnBounds, type Turn, type TurnBounds, TurnQueue } from "../../src/execution/TurnQueue.ts"

const bounds: TurnBounds = {
  atOnce: 4,
  atOncePerTenant: 2,
  atOncePerHost: 1,
  unproven: 4,
  slow: 0,
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
  expect(queue.offer(turn("a", "5"))).toBe(false)
  expect(queue.offer(turn("a", "1"))).toBe(true)
  expect(queue.waiting).toBe(6)
  const first = queue.next()
  if (first === undefined) throw new Error("nothing is next")
  expect(queue.offer(first)).toBe(true)
  expect([queue.running, queue.waiting]).toEqual([1, 5])
})

test("in a full queue, the tenant with the most attempts makes room for others, until all have equally many", () => {
  const queue = new TurnQueue<Turn>(bounds)
  for (const id of ["1", "2", "3", "4"]) queue.offer(turn("a", id))
  for (const id of ["5", "6"]) queue.offer(turn("b", id))
  expect(queue.offer(turn("c", "7"))).toBe(true)
  expect(queue.offer(turn("c", "8"))).toBe(true)
  expect(queue.offer(turn("c", "9"))).toBe(false)
  expect(queue.waiting).toBe(6)
  const taken: Array<string> = []
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    taken.push(next.attemptId)
    queue.finish(next)
  }
  expect(taken.sort()).toEqual(["1", "2", "5", "6", "7", "8"])
  expect(queue.offer(turn("a", "4"))).toBe(true)
})

const roomy: TurnBounds = { ...defaultTurnBounds, atOncePerHost: 32 }
/** Runs an attempt that ends in time. */
const prove = (queue: TurnQueue<Turn>, tenantId: string, host: string) => {
  queue.offer(turn(tenantId, `first of ${host}`, host))
  for (const one of all(queue)) queue.finish(one)
}
/** Attempts of many tenants for hosts that never answer. */
const hang = (queue: TurnQueue<Turn>, tenants: number, host = "silent") => {
  for (let tenant = 0; tenant < tenants; tenant++) {
    for (let n = 0; n < 40; n++) queue.offer(turn(`hanging-${tenant}`, `${host}-${n}`, host))
  }
  return all(queue)
}

test("tenants whose hosts do not answer leave a place for the next tenant", () => {
  const queue = new TurnQueue<Turn>(roomy)
  for (let tenant = 0; tenant < 5; tenant++) hang(queue, tenant + 1)
  queue.offer(turn("next", "1"))
  expect(all(queue)).toHaveLength(1)
})

test("however many tenants have hosts that do not answer, a proven host gets its attempts", () => {
  const queue = new TurnQueue<Turn>(roomy)
  prove(queue, "quick", "proven")
  expect(hang(queue, 200)).toHaveLength(roomy.unproven)
  for (let n = 0; n < 10; n++) queue.offer(turn("quick", `${n}`, "proven"))
  queue.offer(turn("quick", "new", "new"))
  expect(all(queue).map(({ host }) => host)).toEqual(Array.from({ length: 10 }, () => "proven"))
})

test("attempts that wait follow their host when it is proven", () => {
  const queue = new TurnQueue<Turn>({ ...roomy, unproven: 1 })
  for (const id of ["1", "2", "3"]) queue.offer(turn("a", id, "host"))
  const [first, ...others] = all(queue)
  expect(others).toEqual([])
  if (first === undefined) throw new Error("nothing runs")
  queue.finish(first)
  expect(all(queue).map(({ attemptId }) => attemptId)).toEqual(["2", "3"])
})

test("attempts that wait follow their host when it becomes slow", () => {
  const queue = new TurnQueue<Turn>({ ...roomy, unproven: 1, atOncePerHost: 1 })
  prove(queue, "a", "host")
  for (const id of ["1", "2"]) queue.offer(turn("a", id, "host"))
  const [first] = all(queue)
  if (first === undefined) throw new Error("nothing runs")
  expect(hang(queue, 1)).toHaveLength(1)
  queue.slow(first)
  queue.finish(first)
  expect(all(queue)).toEqual([])
})

test("slow attempts give up their places, up to a limit, and do not prove their host", () => {
  const queue = new TurnQueue<Turn>({ ...roomy, slow: 50 })
  const hanging = hang(queue, 200)
  for (const one of hanging) queue.slow(one)
  const next = all(queue)
  expect(next).toHaveLength(50)
  expect(queue.running).toBe(roomy.unproven + 50)
  for (const one of next) queue.slow(one)
  for (const one of [...hanging, ...next]) queue.finish(one)
  expect(queue.running).toBe(0)
  expect(all(queue)).toHaveLength(roomy.unproven)
})
