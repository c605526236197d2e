// Writes to the partition of the leases share batches, because they would disturb each other there.
import { expect, test } from "bun:test"
import { LeaseWrites } from "../../../src/stores/cassandra/LeaseWrites.ts"
import type { Statement } from "../../../src/stores/cassandra/Session.ts"

const statement = (shard: number): Statement => ({ query: "UPDATE leases", params: [shard] })

/** A session that answers when the test says so, and remembers which shards each batch names. */
const heldSession = () => {
  const batches: Array<ReadonlyArray<unknown>> = []
  const answers: Array<{ readonly answer: (isApplied: boolean) => void; readonly fail: () => void }> = []
  return {
    batches,
    answers,
    batch: (statements: ReadonlyArray<Statement>) => {
      batches.push(statements.map(({ params: [shard] }) => shard))
      return new Promise<ReadonlyArray<never> | undefined>((resolve, reject) => {
        answers.push({
          answer: (isApplied) => resolve(isApplied ? undefined : []),
          fail: () => reject(new Error("the server gave up")),
        })
      })
    },
  }
}

/** Lets all promises go on that can. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

test("one batch is under way at a time, writes that wait share the next one, and a renewal goes before them", async () => {
  const session = heldSession()
  const writes = new LeaseWrites(session)
  const first = writes.write(1, statement(1))
  await turn()
  const waiting = [2, 3, 4].map((shard) => writes.write(shard, statement(shard)))
  const renewal = writes.renew([statement(8), statement(9)])
  await turn()
  expect(session.batches).toEqual([[1]])
  for (let sent = 0; sent < 3; sent++) {
    session.answers[sent]?.answer(true)
    await turn()
  }
  expect(session.batches).toEqual([[1], [8, 9], [2, 3, 4]])
  expect(await Promise.all([first, renewal, ...waiting])).toEqual([true, true, true, true, true])
})

test("if one write of a batch is refused, each is sent alone and learns its own answer", async () => {
  const session = heldSession()
  const writes = new LeaseWrites(session)
  const results = [1, 2, 3].map((shard) => writes.write(shard, statement(shard)))
  for (const isApplied of [false, true, false, true]) {
    await turn()
    session.answers.at(-1)?.answer(isApplied)
  }
  expect(await Promise.all(results)).toEqual([true, false, true])
  expect(session.batches).toEqual([[1, 2, 3], [1], [2], [3]])
})

test("an unknown result is told to all writes of the batch, and nothing is sent again", async () => {
  const session = heldSession()
  const writes = new LeaseWrites(session)
  const results = [1, 2].map((shard) => writes.write(shard, statement(shard)).catch(String))
  await turn()
  session.answers[0]?.fail()
  expect(await Promise.all(results)).toEqual(["Error: the server gave up", "Error: the server gave up"])
  expect(session.batches).toEqual([[1, 2]])
  const next = writes.write(3, statement(3))
  await turn()
  session.answers[1]?.answer(true)
  expect(await next).toBe(true)
})

test("two writes of one shard do not share a batch, because both would be applied", async () => {
  const session = heldSession()
  const writes = new LeaseWrites(session)
  const results = [1, 2, 1, 3].map((shard) => writes.write(shard, statement(shard)))
  for (let sent = 0; sent < 2; sent++) {
    await turn()
    session.answers[sent]?.answer(true)
  }
  expect(await Promise.all(results)).toEqual([true, true, true, true])
  expect(session.batches).toEqual([
    [1, 2],
    [1, 3],
  ])
})
