// A migration of a large file that is killed in the middle: the file stays as it was, and the next start migrates it.
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { copyFileSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { openForWriting } from "../../src/stores/sqlite/openDatabase.ts"
import { fileBeforeLevel0, pendingIn } from "../../testkit/beforeLevel0.ts"
import { temporaryFolder } from "../../testkit/sqlite.ts"

const program = fileURLToPath(new URL("../../testkit/migratingProcess.ts", import.meta.url))
const timers = 60_000
/** At which sizes of the log the process is killed. The whole migration writes about 10 MiB. */
const killedAtMiB = [0.5, 2, 4, 6]

const versionOf = (path: string): unknown => {
  using database = new Database(path)
  return database.query("PRAGMA user_version").values()[0]?.[0]
}

/** Returns when the process has ended, by itself or because the log was long enough. */
const killedWhen = (path: string, logBytes: number): Promise<void> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [program, path, "4"], { stdio: "inherit" })
    const looking = setInterval(() => {
      const { size } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? { size: 0 }
      if (size >= logBytes) child.kill("SIGKILL")
    }, 1)
    child.once("exit", () => {
      clearInterval(looking)
      resolve()
    })
  })

test("a migration that is killed at any moment changes nothing, and the next one completes", async () => {
  const folder = temporaryFolder()
  try {
    const original = `${folder.path}/original.db`
    fileBeforeLevel0(original, timers)
    const before = versionOf(original)
    let killedWithin = 0
    for (const mebibytes of killedAtMiB) {
      const path = `${folder.path}/killed-at-${mebibytes}.db`
      copyFileSync(original, path)
      await killedWhen(path, mebibytes * 1024 * 1024)
      if (versionOf(path) === before) killedWithin++
      const { database, lock } = openForWriting({ path, shards: 4 })
      database.close()
      lock.close()
      expect({ mebibytes, ...pendingIn(path) }).toEqual({ mebibytes, faults: [], pending: timers })
    }
    expect(killedWithin).toBeGreaterThan(0)
  } finally {
    folder.dispose()
  }
}, 120_000)
