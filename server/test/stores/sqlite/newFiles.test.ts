// Files of a new store belong only to their owner from the moment they exist, for any umask. Existing files keep their
// modes.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { chmodSync, existsSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { RestorePlace } from "../../../src/stores/sqlite/SqliteRestore.ts"
import { modeOf, withUmask } from "../../../testkit/fileModes.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { sqliteAt, type TemporaryFolder, temporaryFolder } from "../../../testkit/sqlite.ts"
import { samplePut } from "../../../testkit/timers.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

const endings = ["", "-wal", "-shm", ".lock"]

/** The modes of the store's files while it is open and after a write. */
const modesOfStore = (path: string): Promise<ReadonlyArray<string>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { write } = yield* owned
      yield* write([samplePut()])
      return endings.map((ending) => modeOf(`${path}${ending}`))
    }).pipe(Effect.provide(sqliteAt(path, { shards: 1 })), Effect.scoped),
  )

describe("a new store", () => {
  for (const umask of [0o000, 0o022, 0o077]) {
    test(`belongs only to its owner under umask ${umask.toString(8)}: the file, log, index and lock, and folders`, async () => {
      const path = join(folder.path, "a", "b", "timers.db")
      const modes = await withUmask(umask, () => modesOfStore(path))
      expect(modes).toEqual(["600", "600", "600", "600"])
      expect([dirname(path), dirname(dirname(path))].map(modeOf)).toEqual(["700", "700"])
    })
  }
})

describe("an existing store", () => {
  test("keeps the modes of its files and its folder, and its log follows the file", async () => {
    const path = join(folder.path, "shared", "timers.db")
    mkdirSync(dirname(path), { mode: 0o750 })
    chmodSync(dirname(path), 0o750)
    await modesOfStore(path)
    chmodSync(path, 0o640)
    chmodSync(`${path}.lock`, 0o660)
    expect(await withUmask(0, () => modesOfStore(path))).toEqual(["640", "640", "640", "660"])
    expect(modeOf(dirname(path))).toBe("750")
  })
})

describe("a restored store", () => {
  const restore = async (path: string, file: string): Promise<void> => {
    await withUmask(0, async () => {
      const place = new RestorePlace(path)
      place.prepare(file, `${path}.restoring`)
      place.put(`${path}.restoring`, existsSync(path) ? `${path}.kept` : undefined)
      place.close()
    })
  }

  test("belongs only to its owner if it is new, and otherwise has the mode of the store that it replaces", async () => {
    const [file, path] = [folder.database, join(folder.path, "restored.db")]
    await modesOfStore(file)
    chmodSync(file, 0o644)
    await restore(path, file)
    expect([path, `${path}.lock`].map(modeOf)).toEqual(["600", "600"])
    chmodSync(path, 0o640)
    await restore(path, file)
    expect([path, `${path}.kept`].map(modeOf)).toEqual(["640", "640"])
  })
})
