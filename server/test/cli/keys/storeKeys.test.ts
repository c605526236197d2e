// Keys on the store itself, with or without a service on it: the first key, a lost key, and keys after a restore.
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Documents } from "@punctual/documents/Documents"
import { AuditTrail } from "@punctual/door/AuditTrail"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { idOfKey } from "@punctual/door/KeyText"
import { Context, Effect, Layer } from "effect"
import { beforeLevel0 } from "../../../testkit/beforeLevel0.ts"
import { modeOf } from "../../../testkit/fileModes.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { type Ended, rowsOf, run } from "../CommandFixture.ts"
import {
  backupOf,
  filesIn,
  fill,
  keeping,
  restoredAt,
  runKeeping,
  storeAt,
  within,
} from "../store/KeptStoreRig.ts"

setDefaultTimeout(60_000)

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const fresh = filesIn(folder)

const keysIn = (path: string, ...args: ReadonlyArray<string>): Promise<Ended> =>
  runKeeping("keys", ...args, "--store", `sqlite:${path}`)

const adminKeyIn = async (path: string): Promise<string> => {
  const { exitCode, out, err } = await keysIn(path, "create", "--admin")
  if (exitCode !== 0) throw new Error(err)
  return out.trimEnd()
}

const statesIn = async (path: string): Promise<ReadonlyArray<string | undefined>> =>
  rowsOf((await keysIn(path, "list")).out)
    .slice(1)
    .map(([, label, state]) => `${label} ${state}`)
    .toSorted()

/** Runs the body while a service has the store open, as the service sees its keys. */
const besideService = (path: string, body: (keys: KeyDirectory["Service"]) => Promise<void>): Promise<void> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const services = yield* Layer.build(Layer.provide(KeyDirectory.layer(), storeAt(`sqlite:${path}`)))
      yield* Effect.promise(() => body(Context.get(services, KeyDirectory)))
    }).pipe(Effect.scoped),
  )

/** What the audit trail says: the action, who did it, and to which key. */
const auditedIn = (path: string) =>
  within(
    `sqlite:${path}`,
    Effect.gen(function* () {
      const trail = AuditTrail.over(yield* Documents)
      const { records } = yield* trail.list({ exclusiveAfterId: "", limit: 10 })
      return records.map(({ action, caller, about }) => [action, caller, about?.["label"]])
    }),
  )

describe("keys create --admin", () => {
  test("creates a missing store with files that only the owner can read, and the key works in it", async () => {
    const path = join(folder.path, "new", "punctual.db")
    const { exitCode, out, err } = await keysIn(path, "create", "--admin")
    const key = out.trimEnd()
    expect([exitCode, idOfKey(key)?.length]).toEqual([0, 10])
    expect(err).toStartWith(
      `Created the store sqlite:${path}.\nMade ${idOfKey(key)} (administrator): admin in *.`,
    )
    expect(
      readdirSync(join(folder.path, "new")).map((name) => modeOf(join(folder.path, "new", name))),
    ).toEqual(readdirSync(join(folder.path, "new")).map(() => "600"))
    await besideService(path, async (keys) => {
      expect(keys.judge(key, Date.now())).toMatchObject({ key: { label: "administrator" } })
    })
    // Only a digest of the key is in the store.
    expect(readFileSync(path).includes(key.slice(16))).toBe(false)
  })

  test("writes while a service has the store open, and the service sees the key at its next look", async () => {
    const path = fresh()
    await besideService(path, async (keys) => {
      expect(keys.hasHadKey()).toBe(false)
      const key = await adminKeyIn(path)
      await Effect.runPromise(keys.refresh)
      expect(keys.judge(key, Date.now())).toMatchObject({ key: { label: "administrator" } })
      for (const file of readdirSync(folder.path).filter((name) => name.startsWith(path.slice(-4)))) {
        expect(modeOf(join(folder.path, file))).toBe("600")
      }
    })
  })

  test("names what to use instead if no command can reach the store", async () => {
    const { exitCode, out, err } = await runKeeping("keys", "create", "--admin", "--store", "memory:")
    expect([exitCode, out, err]).toEqual([1, "", expect.stringContaining("set TIMER_ADMIN_KEY_FILE")])
  })
})

describe("keys on a store", () => {
  test("must begin with an administrator's, and only create --admin creates a store", async () => {
    const path = fresh()
    expect((await keysIn(path, "list")).err).toContain(`There is no store at ${path}`)
    const app = ["create", "--label", "a", "--role", "app"]
    expect((await keysIn(path, ...app)).err).toContain(`There is no store at ${path}`)
    await fill(`sqlite:${path}`, 1)
    expect((await keysIn(path, ...app)).err).toContain("The first key must be an administrator's key")
    await adminKeyIn(path)
    expect((await keysIn(path, ...app)).exitCode).toBe(0)
    expect(await auditedIn(path)).toEqual([
      ["keys.create", "command line", "a"],
      ["keys.create", "command line", "administrator"],
    ])
    expect(await statesIn(path)).toEqual(["a active", "administrator active"])
  })

  test("can be revoked and rotated without a key, for an operator who has lost all keys", async () => {
    const path = fresh()
    const lost = await adminKeyIn(path)
    const id = idOfKey(lost) ?? ""
    const rotated = (await keysIn(path, "rotate", id, "--grace", "0s")).out.trimEnd()
    await besideService(path, async (keys) => {
      expect(keys.judge(lost, Date.now())).toEqual({ why: "wrong" })
      expect((await keysIn(path, "revoke", id, "--yes")).exitCode).toBe(0)
      await Effect.runPromise(keys.refresh)
      expect(keys.judge(rotated, Date.now())).toEqual({ why: "revoked" })
    })
    expect((await keysIn(path, "revoke", "0000000000")).err).toContain("There is no key with this id.")
  })

  test("of an older schema are refused, with what to do", async () => {
    const path = fresh()
    await fill(`sqlite:${path}`, 1)
    const database = new Database(path)
    beforeLevel0(database)
    database.run("ALTER TABLE timers DROP COLUMN traceparent")
    database.run("PRAGMA user_version = 7")
    database.close()
    expect((await keysIn(path, "list")).err).toContain("run punctual migrate")
  })
})

describe("after punctual restore", () => {
  test("the keys of the backup wait for a confirmation, which needs no key and no service", async () => {
    const path = fresh()
    await fill(`sqlite:${path}`, 2)
    const key = await adminKeyIn(path)
    const backup = fresh()
    await runKeeping("backup", "--store", `sqlite:${path}`, backup)
    expect(readFileSync(backup).includes(key.slice(16))).toBe(false)
    const { exitCode, err } = await restoredAt(`sqlite:${path}`, backup, "--force")
    expect([exitCode, err]).toEqual([0, expect.stringContaining("punctual keys confirm --all")])
    expect(await statesIn(path)).toEqual(["administrator unconfirmed"])
    const later = await adminKeyIn(path)
    await besideService(path, async (keys) => {
      expect(keys.judge(key, Date.now())).toEqual({ why: "unconfirmed" })
      expect(keys.judge(later, Date.now())).toHaveProperty("key")
      const confirmed = await keysIn(path, "confirm", "--all")
      expect([confirmed.out, rowsOf(confirmed.err).length]).toEqual(["Confirmed 1 key.\n", 2])
      await Effect.runPromise(keys.refresh)
      expect(keys.judge(key, Date.now())).toHaveProperty("key")
    })
    // The same backup again: what was confirmed before does not count any more.
    await restoredAt(`sqlite:${path}`, backup, "--force")
    expect(await statesIn(path)).toEqual(["administrator unconfirmed"])
  })

  test("a store without keys stays a store without keys", async () => {
    const path = fresh()
    const { err } = await restoredAt(`sqlite:${path}`, await backupOf(fresh, 1))
    expect(err).not.toContain("keys")
    await besideService(path, async (keys) => {
      expect([keys.hasHadKey(), keys.restores()]).toEqual([false, 0])
    })
  })

  test("by a tool of the database server, restore --force --due-before also unconfirms the keys", async () => {
    const path = fresh()
    await fill(`sqlite:${path}`, 1)
    await adminKeyIn(path)
    const settled = await restoredAt(`sqlite:${path}`, "--force", "--due-before", "now", "fire")
    expect([settled.exitCode, settled.err]).toEqual([
      0,
      expect.stringContaining("punctual keys confirm --all"),
    ])
    expect(await statesIn(path)).toEqual(["administrator unconfirmed"])
  })
})

test("export leaves keys out, and import brings none", async () => {
  const path = fresh()
  await fill(`sqlite:${path}`, 1)
  const key = await adminKeyIn(path)
  await keysIn(path, "create", "--label", "billing", "--role", "app")
  const { archive, importTarget } = keeping
  const exported = await run(["export", "--store", `sqlite:${path}`], { parts: { openArchive: archive } })
  expect(exported.exitCode).toBe(0)
  for (const part of [key, idOfKey(key) ?? "", "administrator"]) expect(exported.out).not.toContain(part)
  const into = fresh()
  const chunks = (async function* () {
    yield new TextEncoder().encode(exported.out)
  })()
  const parts = { openImportTarget: importTarget, archiveLines: () => ({ isTerminal: false, chunks }) }
  expect((await run(["import", "--store", `sqlite:${into}`], { parts })).exitCode).toBe(0)
  await besideService(into, async (keys) => expect(keys.hasHadKey()).toBe(false))
})
