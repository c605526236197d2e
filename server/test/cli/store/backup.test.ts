// `punctual backup`: the file contains everything that the store had at one instant, and gets its name only when it is
// complete.
import { Database } from "bun:sqlite"
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { Effect, Layer } from "effect"
import type { KeptCopies } from "../../../src/cli/store/backup.ts"
import { SealingKeys } from "../../../src/engine/namespaces/SealingKeys.ts"
import { vacuumInto } from "../../../src/stores/sqlite/SqliteBackup.ts"
import { modeOf, withUmask } from "../../../testkit/fileModes.ts"
import { readSqliteContents } from "../../../testkit/SqliteContents.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { run } from "../CommandFixture.ts"
import { fill, keeping, runKeeping, storeAt } from "./KeptStoreRig.ts"

setDefaultTimeout(30_000)

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())
let names = 0
const fresh = () => join(folder.path, `${++names}.db`)

const backedUp = (url: string, ...args: ReadonlyArray<string>) =>
  runKeeping("backup", "--store", url, ...args)

test("the copy is complete, valid and independent of the store, and the command reports it", async () => {
  const [path, file] = [fresh(), fresh()]
  await fill(`sqlite:${path}`, 50)
  const beforeMs = Date.now()
  const { exitCode, out } = await backedUp(`sqlite:${path}`, file, "--json")
  expect(exitCode).toBe(0)
  const told = JSON.parse(out)
  expect(told).toMatchObject({
    file,
    shards: 4,
    pending: 50,
    history: 2,
    dead: 1,
    bytes: statSync(file).size,
  })
  expect(Date.parse(told.takenAt)).toBeGreaterThanOrEqual(beforeMs)
  expect(readSqliteContents(file)).toEqual(readSqliteContents(path))
  const database = new Database(file, { readonly: true })
  expect(database.query("PRAGMA integrity_check").values()).toEqual([["ok"]])
  expect(database.query("PRAGMA journal_mode").values()).toEqual([["delete"]])
  database.close()
  expect(readdirSync(folder.path).filter((name) => name.includes("partial"))).toEqual([])
})

test("only the owner can read a backup, also while it is made; a replaced backup keeps its mode", async () => {
  const [path, file, replaced, half] = [fresh(), fresh(), fresh(), fresh()]
  await fill(`sqlite:${path}`, 1)
  chmodSync(path, 0o644)
  writeFileSync(replaced, "an earlier backup")
  chmodSync(replaced, 0o640)
  const modes = await withUmask(0, async () => {
    expect((await backedUp(`sqlite:${path}`, file)).exitCode).toBe(0)
    expect((await backedUp(`sqlite:${path}`, replaced, "--force")).exitCode).toBe(0)
    const database = new Database(path)
    vacuumInto(database, half)
    database.close()
    return [file, replaced, half].map(modeOf)
  })
  expect(modes).toEqual(["600", "640", "600"])
})

test("a backup works while a service runs on the store, and contains the latest commits", async () => {
  const [path, file] = [fresh(), fresh()]
  await fill(`sqlite:${path}`, 3)
  const ended = await Effect.runPromise(
    Effect.gen(function* () {
      yield* Layer.build(storeAt(`sqlite:${path}`))
      return yield* Effect.promise(() => backedUp(`sqlite:${path}`, file))
    }).pipe(Effect.scoped),
  )
  expect([ended.exitCode, ended.out]).toEqual([0, expect.stringContaining("3 pending timers")])
})

test("an existing file stays unchanged, unless it is to be replaced", async () => {
  const [path, file] = [fresh(), fresh()]
  await fill(`sqlite:${path}`, 1)
  writeFileSync(file, "mine")
  const { exitCode, err } = await backedUp(`sqlite:${path}`, file)
  expect([exitCode, err, readFileSync(file, "utf8")]).toEqual([1, expect.stringContaining("--force"), "mine"])
  expect((await backedUp(`sqlite:${path}`, file, "--force")).exitCode).toBe(0)
  expect(readSqliteContents(file).pending).toHaveLength(1)
})

test("a backup never overwrites its own store", async () => {
  const path = fresh()
  await fill(`sqlite:${path}`, 1)
  const { exitCode, err } = await backedUp(`sqlite:${path}`, path, "--force")
  expect([exitCode, err]).toEqual([1, expect.stringContaining("is the store itself")])
})

test("a failed backup leaves nothing under the file's name", async () => {
  const [path, file] = [fresh(), fresh()]
  await fill(`sqlite:${path}`, 3_000)
  const bytes = readFileSync(path)
  bytes.fill(0xa5, bytes.byteLength >> 1, (bytes.byteLength >> 1) + 8_192)
  writeFileSync(path, bytes)
  const { exitCode, err } = await backedUp(`sqlite:${path}`, file)
  expect([exitCode, err]).toEqual([1, expect.stringMatching(/malformed|damaged|corrupt/)])
  expect(
    readdirSync(folder.path).filter((name) => name === basename(file) || name.includes("partial")),
  ).toEqual([])
})

test("a backup of a missing store creates neither the store nor a folder", async () => {
  const [path, file] = [fresh(), fresh()]
  const none = await backedUp(`sqlite:${path}`, file)
  expect([none.exitCode, none.err]).toEqual([1, expect.stringContaining("There is no store at")])
  expect([existsSync(path), existsSync(file)]).toEqual([false, false])
  await fill(`sqlite:${path}`, 1)
  const nowhere = await backedUp(`sqlite:${path}`, join(folder.path, "none", "a.db"))
  expect([nowhere.exitCode, nowhere.err]).toEqual([1, expect.stringContaining("there is no folder")])
})

test("if the target cannot be written, the error names the target and not the store", async () => {
  const path = fresh()
  await fill(`sqlite:${path}`, 1)
  const { exitCode, out, err } = await backedUp(`sqlite:${path}`, "/proc/backup.db")
  expect([exitCode, out]).toEqual([1, ""])
  expect(err).toMatch(/^punctual backup: \/proc\/backup\.db cannot be written \(.*\n$/)
  expect(err).not.toContain(path)
})

test("on PostgreSQL the command names the right tool", async () => {
  const { exitCode, err } = await backedUp("postgres://u@127.0.0.1:1/db", fresh())
  expect([exitCode, err]).toEqual([1, expect.stringMatching(/pg_dump.*punctual export/)])
})

test("the file argument is required", async () => {
  expect((await backedUp("sqlite:a.db")).exitCode).toBe(2)
})

test("a long backup reports progress, and leaves nothing behind when it is stopped", async () => {
  const [path, file] = [fresh(), fresh()]
  writeFileSync(path, Buffer.alloc(4_096))
  const said = Promise.withResolvers<string>()
  let stop = () => {}
  const endless: KeptCopies = {
    path,
    keys: new SealingKeys([]),
    copy: ({ partial }) =>
      Effect.andThen(
        Effect.sync(() => writeFileSync(partial, Buffer.alloc(1_024))),
        Effect.never,
      ),
  }
  const ended = run(["backup", file], {
    parts: { keeping: { ...keeping, copies: () => Effect.succeed(endless) } },
    err: async (text) => said.resolve(text),
    onStop: (asked) => {
      stop = asked
      return () => {}
    },
  })
  expect(await said.promise).toBe("1.0 KiB of about 4.0 KiB …\n")
  stop()
  expect((await ended).exitCode).toBe(130)
  expect(readdirSync(folder.path).filter((name) => name.includes("partial"))).toEqual([])
})
