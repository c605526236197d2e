// Keys on a PostgreSQL store itself, while a node runs on it, and after a restore by the tools of the database server.
import { expect, setDefaultTimeout, test } from "bun:test"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { Context, Effect, Layer } from "effect"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { runKeeping, storeAt } from "../store/KeptStoreRig.ts"

setDefaultTimeout(60_000)

describePostgres("installed", "punctual keys on PostgreSQL", () => {
  const server = serverForTests("installed")

  test("creates the store, writes beside a node, and waits for a confirmation after pg_restore", async () => {
    const { url } = server().database()
    const keys = (...args: ReadonlyArray<string>) => runKeeping("keys", ...args, "--store", url)
    expect((await keys("list")).err).toContain("There is no store in")
    const first = await keys("create", "--admin")
    expect([first.exitCode, first.err]).toEqual([0, expect.stringContaining("Created the store postgres://")])
    await Effect.runPromise(
      Effect.gen(function* () {
        const services = yield* Layer.build(Layer.provide(KeyDirectory.layer(), storeAt(url)))
        const directory = Context.get(services, KeyDirectory)
        const judged = (key: string) => directory.judge(key.trim(), Date.now())
        expect(judged(first.out)).toHaveProperty("key")
        const second = yield* Effect.promise(() => keys("create", "--admin", "--label", "second"))
        yield* directory.refresh
        expect(judged(second.out)).toMatchObject({ key: { label: "second" } })
      }).pipe(Effect.scoped),
    )
    // No tool of the database server tells the store that it was restored, so the operator does.
    const settled = await runKeeping("restore", "--force", "--due-before", "now", "fire", "--store", url)
    expect([settled.exitCode, settled.err]).toEqual([0, expect.stringContaining("keys confirm --all")])
    expect((await keys("list")).out).toContain("unconfirmed")
    expect((await keys("confirm", "--all")).out).toBe("Confirmed 2 keys.\n")
    expect((await keys("list")).out).not.toContain("unconfirmed")
  })
})
