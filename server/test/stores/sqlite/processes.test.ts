// Two processes on one file, and processes that are killed: what only real processes can show.
import { describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { keyOf } from "../../../src/domain/TimerKey.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { at, owned } from "../../../testkit/StoreFixture.ts"
import { sqliteAt, temporaryFolder } from "../../../testkit/sqlite.ts"
import { samplePut } from "../../../testkit/timers.ts"

const program = fileURLToPath(new URL("../../../testkit/sqliteNode.ts", import.meta.url))

/** Starts a node that writes `timers`, waits until it has printed `lines` lines, and returns them. */
const startNode = async (database: string, timers: number, lines: number) => {
  const child = spawn(process.execPath, [program, database, "2", String(timers)], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  const exited = once(child, "exit")
  const printed: Array<string> = []
  for await (const line of createInterface({ input: child.stdout })) {
    printed.push(line)
    if (printed.length >= lines) break
  }
  const kill = async () => {
    child.kill("SIGKILL")
    await exited
  }
  return { printed, kill }
}

describe("an SQLite file and processes", () => {
  test("every acknowledged write is there after a kill -9, and the restart owns all shards at once", async () => {
    const folder = temporaryFolder()
    try {
      const node = await startNode(folder.database, 20_000, 301)
      await node.kill()
      const acknowledged = node.printed.filter((line) => line.startsWith("t-"))
      expect(acknowledged.length).toBeGreaterThanOrEqual(300)
      const body = Effect.gen(function* () {
        const { store, leases, epochs } = yield* owned
        expect(epochs).toEqual([2, 2])
        expect((yield* leases.owners).map(({ node: owner }) => owner)).toEqual(["node-1", "node-1"])
        for (const timerId of acknowledged) {
          expect((yield* store.find(keyOf("shop", timerId))).pending?.timerId).toBe(timerId)
        }
      })
      await Effect.runPromise(
        body.pipe(Effect.provide(sqliteAt(folder.database, { shards: 2 })), Effect.scoped),
      )
    } finally {
      folder.dispose()
    }
  })

  test("a second process sees the owner and may read, and may claim only when the owner dies", async () => {
    const folder = temporaryFolder()
    const node = await startNode(folder.database, 5, 6)
    try {
      const body = Effect.gen(function* () {
        const store = yield* TimerStore
        const leases = yield* ShardLeases
        const owners = yield* leases.owners
        expect(owners.map((lease) => lease.node)).toEqual(["node-1", "node-1"])
        expect(yield* leases.claim(at(owners, 0), "node-2")).toBeUndefined()
        expect((yield* store.find(keyOf("shop", "t-0"))).pending?.timerId).toBe("t-0")
        const foreign = samplePut({ namespace: "late" })
        expect((yield* store.insertIfAbsent(0, [foreign])).map(({ result }) => result)).toEqual(["created"])

        yield* Effect.promise(node.kill)
        const free = yield* leases.owners
        expect(free.map((lease) => [lease.node, lease.epoch])).toEqual([
          [undefined, 1],
          [undefined, 1],
        ])
        expect(yield* leases.claim(at(free, 0), "node-2")).toMatchObject({
          epoch: 2,
          node: "node-2",
          foreign: 1,
        })
        const late = yield* store.write([{ shard: 0, epoch: 1, items: [samplePut()] }])
        expect(late).toEqual([{ result: "ownershipLost" }])
      })
      await Effect.runPromise(
        body.pipe(Effect.provide(sqliteAt(folder.database, { shards: 2 })), Effect.scoped),
      )
    } finally {
      await node.kill()
      folder.dispose()
    }
  })
})
