// The real service, killed again and again while it creates, fires and merges. `npm run test:matrix -- --only cuts` kills
// it 300 times.
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { copyFileSync, existsSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { examineFile } from "../../src/stores/sqlite/SqliteDoctor.ts"
import { killsOfMerges, reportProgress } from "../../testkit/effort.ts"
import { eventually } from "../../testkit/eventually.ts"
import type { Key } from "../../testkit/History.ts"
import { accepted, refusedFor } from "../../testkit/Receiver.ts"
import { SeededRandom } from "../../testkit/SeededRandom.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"
import { ProcessRun } from "./ProcessRun.ts"

const entry = fileURLToPath(new URL("../../testkit/cuts/mergingService.ts", import.meta.url))
const callers = 8
const retryMs = 200
const retryPolicy = { initialInterval: `${retryMs}ms`, backoffMultiplier: 1, jitter: 0 }
const reportEvery = 20

test(
  "killed at any moment of creates, fires and merges, the service loses no timer, and its orders fit its timers",
  async () => {
    const random = new SeededRandom()
    using copies = new TemporaryFolder()
    await using run = await ProcessRun.start({
      program: { command: process.execPath, args: [entry] },
      reply: () => (random.below(30) === 0 ? refusedFor(retryMs) : accepted),
    })
    const { service, client, receiver } = run
    const keys: Array<Key> = []
    const soon = () => Date.now() + random.below(1_500)
    const someKey = (): Key => keys[random.below(keys.length)] ?? newKey()
    const newKey = (): Key => {
      const key = { namespace: random.oneOf(["orders", "billing", "x"]), timerId: `t-${keys.length}` }
      keys.push(key)
      return key
    }
    const doSomething = async (): Promise<boolean> => {
      const chance = random.below(10)
      if (chance === 0) return (await client.cancel(someKey())) !== undefined
      if (chance === 1) return (await client.update({ key: someKey(), executeAtMs: soon() })) !== undefined
      const key = chance === 2 ? someKey() : newKey()
      const request = {
        key,
        executeAtMs: soon(),
        callbackUrl: receiver.url,
        payload: '{"n":1.0}',
        retryPolicy,
      }
      return (await client.create(request)) !== undefined
    }

    let withinMerges = 0
    for (let kill = 1; kill <= killsOfMerges; kill++) {
      const enough = 1 + random.below(200)
      let answered = 0
      let killed: Promise<void> | undefined
      const calling = async () => {
        while (killed === undefined) {
          if (await doSomething()) answered++
          // In the same turn in which an answer arrives, while requests of other callers are under way.
          if (answered >= enough) killed ??= service.kill9()
        }
      }
      await Promise.all(Array.from({ length: callers }, calling))
      await killed
      const left = leftIn(ServiceProcess.databaseIn(run.folder), ServiceProcess.databaseIn(copies.path))
      if (left.isWithinMerge) withinMerges++
      const terms = { seed: random.seed, kill }
      expect({ ...terms, "broken promises": left.faults }).toEqual({ ...terms, "broken promises": [] })
      await service.start()
      if (kill % reportEvery === 0) {
        reportProgress(
          `${kill} of ${killsOfMerges} kills, ${withinMerges} of them within a merge, ${keys.length} timers`,
        )
      }
    }

    await eventually(
      "nothing is pending",
      async () => ((await service.metric("timer_pending")) === 0 ? true : undefined),
      120_000,
    )
    expect(await service.terminate()).toBe(0)
    run.expectInvariants({ hint: `PUNCTUAL_SEED=${random.seed}` })
    expect(withinMerges).toBeGreaterThan(0)
  },
  45 * 60_000,
)

/** Looks at a copy, so that the service recovers the files by itself. */
const leftIn = (
  path: string,
  copy: string,
): { readonly isWithinMerge: boolean; readonly faults: ReadonlyArray<string> } => {
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${copy}${ending}`, { force: true })
  for (const ending of ["", "-wal"])
    if (existsSync(`${path}${ending}`)) copyFileSync(`${path}${ending}`, `${copy}${ending}`)
  const { faults } = examineFile(copy, { isFull: true, overdueBeforeMs: 0, overdueBeforeMsIfPaused: 0 })
  using database = new Database(copy)
  const [isWithinMerge] = database.query("SELECT frozen_seq > merged_seq FROM merging").values()[0] ?? []
  return { isWithinMerge: isWithinMerge === 1, faults }
}
