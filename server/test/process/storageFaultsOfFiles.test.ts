import { describe, expect, test } from "bun:test"
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { eventually } from "../../testkit/eventually.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { ProcessRun } from "./ProcessRun.ts"
import { createOne, createUntilItFalls, expectOneError, expectRecovery } from "./storageFaultRun.ts"

const fileOf = (run: ProcessRun, suffix = ""): string => `${ServiceProcess.databaseIn(run.folder)}${suffix}`

/** Runs the action while creates are under way and some have been acknowledged. */
const amidCreates = async (run: ProcessRun, act: () => void): Promise<void> => {
  const falling = createUntilItFalls(run)
  await run.receiver.until("creates have been fired", ({ length }) => length >= 20)
  act()
  expect(await falling).toBeGreaterThan(20)
}

describe("files removed from a running service: it notices, and ends", () => {
  test.each(["-wal", "-shm", ".lock"])(
    "%s removed: nothing acknowledged is lost",
    async (suffix) => {
      await using run = await ProcessRun.start()
      await amidCreates(run, () => rmSync(fileOf(run, suffix)))
      expectOneError(run, `${fileOf(run, suffix)} was removed while the service ran`)
      await expectRecovery(run)
    },
    60_000,
  )

  test("an idle service notices, too", async () => {
    await using run = await ProcessRun.start()
    expect(await createOne(run, 3_600_000)).toBe("created")
    rmSync(fileOf(run, "-wal"))
    expect(await run.service.fallen()).toBe(1)
    expectOneError(run, "-wal was removed while the service ran")
    await expectRecovery(run)
  }, 60_000)

  test("the folder moved away: it contains every acknowledged timer, and can be put back", async () => {
    await using run = await ProcessRun.start()
    const away = `${run.folder}.away`
    const names = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("punctual.db"))
    try {
      await amidCreates(run, () => {
        mkdirSync(away)
        for (const name of names(run.folder)) renameSync(join(run.folder, name), join(away, name))
      })
      expectOneError(run, `${fileOf(run)} was removed while the service ran`)
      for (const name of names(away)) renameSync(join(away, name), join(run.folder, name))
    } finally {
      rmSync(away, { recursive: true, force: true })
    }
    await expectRecovery(run)
  }, 60_000)

  test("another file in the database's place: the service ends, and leaves that file no log of another", async () => {
    await using run = await ProcessRun.start()
    const [original, other] = [`${fileOf(run)}.original`, `${fileOf(run)}.other`]
    await amidCreates(run, () => {
      copyFileSync(fileOf(run), other)
      linkSync(fileOf(run), original)
      // In one step: the service must never find the path empty.
      renameSync(other, fileOf(run))
    })
    expectOneError(run, `${fileOf(run)} was replaced by another file while the service ran`)
    // If another file found this log when it is opened, SQLite would write the log over it.
    expect(existsSync(fileOf(run, "-wal")) && statSync(fileOf(run, "-wal")).size).toBe(0)
    renameSync(original, fileOf(run))
    await expectRecovery(run)
  }, 60_000)
})

test("locked by another program: nothing is acknowledged, one warning says so, and the service continues when it is free", async () => {
  await using run = await ProcessRun.start()
  const other = new DatabaseSync(fileOf(run))
  try {
    other.exec("BEGIN IMMEDIATE")
    let isAnswered = false
    const answered = createOne(run, 0).finally(() => {
      isAnswered = true
    })
    const locked = `${fileOf(run)} is locked by another program`
    await eventually("it says so", () => run.service.hasLogged(locked) || undefined)
    expect(isAnswered).toBe(false)
    expect(await run.service.statusOf("/health/live")).toBe(200)
    expect(run.service.logs.filter((line) => line.includes(locked))).toHaveLength(1)
    other.exec("ROLLBACK")
    expect(await answered).toBe("created")
  } finally {
    other.close()
  }
  await run.receiver.until("the timer fired", ({ length }) => length === 1)
  expect(await run.service.terminate()).toBe(0)
  run.expectInvariants()
}, 60_000)
