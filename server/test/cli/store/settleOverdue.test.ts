// What happens to timers that were overdue before a restore: they fire, become dead letters, or are cancelled, on
// either store. Nothing fires before all of them are settled.
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { Effect, Layer } from "effect"
import type { OpenRestoreTarget } from "../../../src/cli/store/restore.ts"
import { deadReason } from "../../../src/cli/store/settleOverdue.ts"
import { SettingsRecords, serviceRecord } from "../../../src/engine/namespaces/SettingsRecords.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { StoreError, TimerStore } from "../../../src/ports/TimerStore.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { readSqliteContents } from "../../../testkit/SqliteContents.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { putOf, sampleTimer } from "../../../testkit/timers.ts"
import { run } from "../CommandFixture.ts"
import {
  backupOf,
  filesIn,
  fill,
  keeping,
  restoredAt,
  serviceSettingsIn,
  storeAt,
  within,
} from "./KeptStoreRig.ts"

setDefaultTimeout(60_000)

const folder = new TemporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const fresh = filesIn(folder)

const restored = (path: string, ...args: ReadonlyArray<string>) => restoredAt(`sqlite:${path}`, ...args)

const stateOf = (url: string, state: "pending" | "dead" | "cancelled") =>
  within(
    url,
    Effect.flatMap(TimerStore, (store) =>
      store.list({ namespace: "shop", state, reversed: false, includePayload: false, limit: 1_000 }),
    ),
  )

interface StoreUnderTest {
  /** A store as a restore leaves it, with one timer due a day ago and `count - 1` due from now on. */
  readonly restoredStore: (count: number) => Promise<string>
}

const lawsOfSettling = ({ restoredStore }: StoreUnderTest): void => {
  test("fire: the timers stay as they are, and the store is not paused any more", async () => {
    const url = await restoredStore(5)
    const { exitCode, out } = await restoredAt(url, "--due-before", "now", "fire")
    // One timer was due a day ago. The next was due when it was created.
    expect([exitCode, out]).toEqual([
      0,
      expect.stringMatching(/^2 timers that were due before .* fire when the service starts/),
    ])
    expect((await stateOf(url, "pending")).items).toHaveLength(5)
    const { pause, pastPauses = [] } = await serviceSettingsIn(url)
    expect(pause).toBeUndefined()
    expect(pastPauses).toHaveLength(1)
  })

  test("dead: the timers become dead letters with the reason, and the others stay pending", async () => {
    const url = await restoredStore(5)
    const { exitCode, out } = await restoredAt(url, "--due-before", "now", "dead", "--json")
    expect([exitCode, JSON.parse(out)]).toMatchObject([
      0,
      { settled: { fate: "dead", timers: 2 }, isPaused: false },
    ])
    expect((await stateOf(url, "pending")).items).toHaveLength(3)
    const dead = (await stateOf(url, "dead")).items.flatMap((item) =>
      item.state === "pending" ? [] : [item.life],
    )
    expect(
      dead
        .filter(({ reason }) => reason === deadReason)
        .map(({ timerId }) => timerId)
        .sort(),
    ).toEqual(["t-0", "t-1"])
    expect((await serviceSettingsIn(url)).pause).toBeUndefined()
  })

  test("discard: the timers are cancelled, up to the given instant and no further", async () => {
    const url = await restoredStore(5)
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
    const { exitCode } = await restoredAt(url, "--due-before", hourAgo, "discard")
    expect(exitCode).toBe(0)
    expect((await stateOf(url, "pending")).items).toHaveLength(4)
    const cancelled = (await stateOf(url, "cancelled")).items.flatMap((item) =>
      item.state === "pending" ? [] : [item.life.timerId],
    )
    expect(cancelled).toContain("t-0")
  })

  test("a store that was not restored, or is already settled, is not changed", async () => {
    const url = await restoredStore(2)
    expect((await restoredAt(url, "--due-before", "now", "fire")).exitCode).toBe(0)
    const again = await restoredAt(url, "--due-before", "now", "discard")
    expect([again.exitCode, again.err]).toEqual([1, expect.stringContaining("was not restored")])
    expect((await stateOf(url, "pending")).items).toHaveLength(2)
    expect((await restoredAt(url, "--due-before", "now", "discard", "--force")).exitCode).toBe(0)
    expect((await stateOf(url, "pending")).items).toHaveLength(0)
  })

  test("an interrupted command can be repeated, and the store stays paused until the work is complete", async () => {
    const url = await restoredStore(2)
    await within(
      url,
      Effect.gen(function* () {
        const { write, leases, epochs } = yield* owned
        yield* write(
          Array.from({ length: 900 }, (_, index) =>
            putOf(sampleTimer({ timerId: `more-${index}`, executeAt: 1_000 + index })),
          ),
        )
        for (const [shard, epoch] of epochs.entries()) yield* leases.release(shard, epoch)
      }),
    )
    let writes = 0
    const breaking: OpenRestoreTarget = (storeUrl) =>
      Effect.map(keeping.restoreTarget(storeUrl), (target) => ({
        ...target,
        settling: Effect.map(target.settling, (settling) => ({
          ...settling,
          store: {
            ...settling.store,
            write: (batches) =>
              ++writes > 3
                ? Effect.fail(new StoreError({ message: "killed", isFatal: true }))
                : settling.store.write(batches),
          } satisfies TimerStore["Service"],
        })),
      }))
    const broken = await run(["restore", "--store", url, "--due-before", "now", "dead"], {
      parts: { keeping: { ...keeping, restoreTarget: breaking } },
    })
    expect([broken.exitCode, broken.err]).toEqual([1, expect.stringContaining("killed")])
    expect((await serviceSettingsIn(url)).pause?.kind).toBe("restored")
    const left = (await stateOf(url, "pending")).items.length
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(902)
    expect((await restoredAt(url, "--due-before", "now", "dead")).exitCode).toBe(0)
    expect((await stateOf(url, "pending")).items).toHaveLength(0)
    expect((await serviceSettingsIn(url)).pause).toBeUndefined()
  })

  test("the command fails while a service runs on the store", async () => {
    const url = await restoredStore(2)
    const ended = await Effect.runPromise(
      Effect.gen(function* () {
        const services = yield* Layer.build(storeAt(url))
        yield* Effect.provide(
          Effect.gen(function* () {
            const { leases, epochs } = yield* owned
            const held = epochs.map((epoch, shard) => ({ shard, epoch }))
            yield* Effect.forkScoped(Effect.forever(Effect.delay(leases.renew(held), 100)))
          }),
          services,
        )
        return yield* Effect.promise(() => restoredAt(url, "--due-before", "now", "dead"))
      }).pipe(Effect.scoped),
    )
    expect([ended.exitCode, ended.err]).toEqual([1, expect.stringContaining("runs on this store")])
    expect((await stateOf(url, "pending")).items).toHaveLength(2)
  })
}

describe("overdue timers after a restore, on SQLite", () => {
  lawsOfSettling({
    restoredStore: async (count) => {
      const file = await backupOf(fresh, count)
      const path = fresh()
      expect((await restored(path, file)).exitCode).toBe(0)
      return `sqlite:${path}`
    },
  })

  for (const fate of ["dead", "discard"]) {
    test(`${fate}: a timer that cannot be read stays as it is, and does not stop the others`, async () => {
      const path = fresh()
      const file = await backupOf(fresh, 5)
      expect((await restored(path, file)).exitCode).toBe(0)
      {
        using database = new Database(path)
        const row = "id = (SELECT id FROM timers WHERE timer_id = 't-0')"
        database.run(`UPDATE bodies SET spec = '{' WHERE ${row}`)
      }
      const { exitCode, out, err } = await restored(path, "--due-before", "now", fate, "--json")
      expect([exitCode, JSON.parse(out)]).toMatchObject([0, { settled: { fate, timers: 1 } }])
      expect(err).toContain("1 timer cannot be read and stays as it is: see punctual doctor.")
      const { items, unreadable } = await stateOf(`sqlite:${path}`, "pending")
      expect([items.length, unreadable?.length]).toEqual([3, 1])
    })
  }

  test("the restore command itself can settle them", async () => {
    const file = await backupOf(fresh, 4)
    const path = fresh()
    const { exitCode, out, err } = await restored(path, file, "--due-before", "now", "dead")
    expect([exitCode, out]).toEqual([0, expect.stringContaining("2 timers that were due before")])
    expect(err).toContain("4 pending timers")
    expect(readSqliteContents(path).pending).toHaveLength(2)
  })

  test("a pause that an operator asked for stays", async () => {
    const path = fresh()
    await fill(`sqlite:${path}`, 1)
    const asked = { pause: { kind: "asked", sinceMs: 5 } } as const
    await within(
      `sqlite:${path}`,
      Effect.flatMap(SettingsRecords.make, (namespaces) =>
        namespaces.put({ namespace: serviceRecord, version: 0, updatedAt: 1, settings: asked }),
      ),
    )
    const { exitCode, out } = await restored(path, "--due-before", "now", "fire", "--force")
    expect([exitCode, out]).toEqual([0, expect.stringContaining("stays paused")])
    expect(await serviceSettingsIn(`sqlite:${path}`)).toEqual(asked)
  })
})

describePostgres("installed", "overdue timers after a restore, on PostgreSQL", () => {
  const server = serverForTests("installed")
  lawsOfSettling({
    restoredStore: async (count) => {
      const { url } = server().database()
      await fill(url, count)
      await within(
        url,
        Effect.flatMap(SettingsRecords.make, (namespaces) =>
          namespaces.put({
            namespace: serviceRecord,
            version: 0,
            updatedAt: 1,
            settings: { pause: { kind: "restored", sinceMs: 1 } },
          }),
        ),
      )
      return url
    },
  })

  test("leases are free again afterwards", async () => {
    const { url } = server().database()
    await fill(url, 2)
    expect((await restoredAt(url, "--due-before", "now", "dead", "--force")).exitCode).toBe(0)
    const owners = await within(
      url,
      Effect.flatMap(ShardLeases, (leases) => leases.owners),
    )
    expect(owners.filter(({ node }) => node !== undefined)).toEqual([])
  })
})
