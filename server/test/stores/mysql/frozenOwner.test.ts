// A process that is frozen between the lock of a fence and its commit. The server must end its transaction, so that
// another node can take the shard over, and the process must not write when it wakes up.
import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { eventually } from "../../../testkit/eventually.ts"
import type { MysqlFlavour } from "../../../testkit/MysqlServer.ts"
import { describeMysql, mysqlForTests, mysqlStoreAt } from "../../../testkit/mysql.ts"

const holder = fileURLToPath(new URL("../../../testkit/mysqlLockHolder.ts", import.meta.url))

for (const flavour of ["mysql", "mariadb", "tidb"] satisfies ReadonlyArray<MysqlFlavour>) {
  describeMysql(flavour, `a frozen owner on ${flavour}`, () => {
    const server = mysqlForTests(flavour)

    test("does not keep its fence, and writes nothing when it wakes up", async () => {
      const { url } = await server().database()
      await Effect.runPromise(
        Effect.gen(function* () {
          const leases = yield* ShardLeases
          const store = yield* TimerStore
          const [free] = yield* leases.owners
          if (free === undefined) throw new Error("the store has no shard")
          const child = spawn(process.execPath, [holder, url], { stdio: ["pipe", "pipe", "inherit"] })
          const said: Array<string> = []
          child.stdout.on("data", (chunk: Buffer) => said.push(chunk.toString()))
          yield* Effect.promise(() =>
            eventually("the fence is locked", () => said.join("").match(/locked/)?.[0]),
          )
          child.kill("SIGSTOP")
          // A claim waits for the fence, at most 2 s, and fails. It succeeds once the server has ended the transaction.
          const tryClaim = Effect.catch(leases.claim(free, "another"), () => Effect.succeed(undefined))
          const claimed = yield* Effect.promise(() =>
            eventually("the shard is taken over", () => Effect.runPromise(tryClaim)),
          )
          expect(claimed.epoch).toBe(1)
          child.kill("SIGCONT")
          child.stdin.end("go\n")
          yield* Effect.promise(() => once(child, "exit"))
          expect(said.join("").trim().split("\n").at(-1)).toBe("refused")
          expect((yield* store.tally).created).toBe(0)
        }).pipe(Effect.provide(mysqlStoreAt(url, 1)), Effect.scoped),
      )
    }, 60_000)
  })
}
