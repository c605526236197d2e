import { expect, test } from "bun:test"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { describeFaults, type Fault, failingDisk, loseUnsynced } from "../../testkit/Strace.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"
import { ProcessRun } from "./ProcessRun.ts"
import { createUntilItFalls, expectOneError, expectRecovery } from "./storageFaultRun.ts"

interface Case {
  readonly law: string
  readonly fault: Omit<Fault, "file">
  readonly file: "" | "-wal"
  readonly says: string
}

// The service calls fsync nearly forty times before it is ready. Later failures fall among the creates.
const cases: ReadonlyArray<Case> = [
  {
    law: "one failing fsync of the log ends the service, though all others succeed",
    fault: { call: "fsync", error: "EIO", when: "90" },
    file: "-wal",
    says: "SQLITE_IOERR_FSYNC",
  },
  {
    law: "a failing fsync of the database during a checkpoint ends the service",
    fault: { call: "fsync", error: "EIO", when: "2+" },
    file: "",
    says: "SQLITE_IOERR_FSYNC",
  },
  {
    law: "a failing write to the log ends the service",
    fault: { call: "pwrite64", error: "EIO", when: "400+" },
    file: "-wal",
    says: "SQLITE_IOERR_WRITE",
  },
  {
    law: "a full disk for the log ends the service",
    fault: { call: "pwrite64", error: "ENOSPC", when: "400+" },
    file: "-wal",
    says: "SQLITE_FULL",
  },
  {
    law: "a full disk for the database ends the service",
    fault: { call: "pwrite64", error: "ENOSPC", when: "40+" },
    file: "",
    says: "SQLITE_FULL",
  },
  {
    law: "a file system that becomes read-only ends the service",
    fault: { call: "pwrite64", error: "EROFS", when: "400+" },
    file: "-wal",
    says: "SQLITE_IOERR_WRITE",
  },
]

describeFaults("a failing disk: acknowledged timers are there after a restart", () => {
  test.each(cases)(
    "$law",
    async ({ fault, file, says }) => {
      await using run = await ProcessRun.start()
      expect(await run.service.terminate()).toBe(0)
      using traces = new TemporaryFolder()
      const path = `${ServiceProcess.databaseIn(run.folder)}${file}`
      await run.service.start(failingDisk({ ...fault, file: path }, traces.path))
      const acknowledged = await createUntilItFalls(run)
      expect(acknowledged).toBeGreaterThan(0)
      expectOneError(run, says)
      // A refused write may still be in the system's memory, and look as if it were stored.
      const lostWrites = file === "-wal" ? loseUnsynced(path, traces.path) : 0
      if (fault.call === "fsync" && file === "-wal") expect(lostWrites).toBeGreaterThan(0)
      await expectRecovery(run)
    },
    60_000,
  )

  test("a read-only database is refused at the start, in one sentence that names it", async () => {
    await using run = await ProcessRun.start()
    expect(await run.service.terminate()).toBe(0)
    using traces = new TemporaryFolder()
    const file = ServiceProcess.databaseIn(run.folder)
    const program = failingDisk({ call: "openat", error: "EROFS", file, when: "1" }, traces.path)
    await expect(run.service.launch(program)).rejects.toThrow(`${file} cannot be written`)
    expect(await run.service.exit).toBe(1)
    expectOneError(run, file)
  }, 60_000)
})
