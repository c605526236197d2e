// Which threads of a process with a SQLite store are nicer than the process.
import { expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { getPriority } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { nicerBy } from "../../../src/stores/sqlite/lowerOwnPriority.ts"
import { describeUnless } from "../../../testkit/describeUnless.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { sqliteAt } from "../../../testkit/sqlite.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { samplePut } from "../../../testkit/timers.ts"

/** The niceness of every thread of this process, by its number. A thread may end while the list is read. */
const threads = (): ReadonlyMap<string, number> =>
  new Map(
    readdirSync("/proc/self/task").flatMap((thread) => {
      try {
        const stat = readFileSync(`/proc/self/task/${thread}/stat`, "utf8")
        // The name of a thread may contain spaces. The niceness is the 19th field.
        return [[thread, Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16])] as const]
      } catch {
        return []
      }
    }),
  )

const reason = process.platform === "linux" ? undefined : "only Linux has priorities of threads"

describeUnless(reason, "the threads of a SQLite store", () => {
  test("that read give way, and those that write and fire keep the priority of the process", async () => {
    using folder = new TemporaryFolder()
    const own = getPriority()
    const before = threads()
    const added = await Effect.runPromise(
      Effect.gen(function* () {
        const { store, write } = yield* owned
        const { timer } = samplePut()
        yield* write([samplePut()])
        yield* store.find(timer)
        return [...threads()].filter(([thread]) => !before.has(thread)).map(([, niceness]) => niceness)
      }).pipe(Effect.provide(sqliteAt(join(folder.path, "timers.db"), { shards: 1 })), Effect.scoped),
    )
    // A thread that the runtime starts from the one that reads has its niceness.
    expect(added).toContain(Math.min(19, own + nicerBy))
    expect(added).toContain(own)
    expect(getPriority()).toBe(own)
  })
})
