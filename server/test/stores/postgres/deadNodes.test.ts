// A killed node that is restarted on its machine does not wait until its own lease ends.
import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { identityOf } from "../../../src/stores/ProcessIdentity.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { describeUnless } from "../../../testkit/describeUnless.ts"
import { serverForTests } from "../../../testkit/postgres.ts"

const shards = 4

const reason = process.platform === "linux" ? undefined : "only Linux can identify a process"

describeUnless(reason, "a node that starts", () => {
  const server = serverForTests("installed")

  /**
   * A node with the identity of this process holds two of four shards. Then the test changes how others see that
   * identity.
   */
  const afterwards = (seenAs: (schema: string) => Promise<void>) => {
    const { url, schema } = server().database()
    const leases = <A, E>(use: (leases: ShardLeases["Service"]) => Effect.Effect<A, E>) =>
      Effect.runPromise(
        Effect.scoped(Effect.provide(Effect.flatMap(ShardLeases, use), PostgresStore.layer({ url, shards }))),
      )
    const first = leases((held) =>
      Effect.gen(function* () {
        yield* held.announce({ node: "first", address: "", isLeaving: false })
        for (const lease of (yield* held.owners).slice(0, 2)) yield* held.claim(lease, "first")
      }),
    )
    return first
      .then(() => seenAs(schema))
      .then(() =>
        leases((held) =>
          Effect.gen(function* () {
            yield* held.announce({ node: "second", address: "", isLeaving: false })
            const owners = (yield* held.owners).map(({ node, epoch }) => ({ node, epoch }))
            const members = (yield* held.members).map(({ node }) => node)
            return { owners, members }
          }),
        ),
      )
  }

  const setProcess = async (schema: string, identity: string | null): Promise<void> => {
    const sql = new Bun.SQL(server().url, { max: 1 })
    await sql.unsafe(`UPDATE ${schema}.members SET process = $1 WHERE node = 'first'`, [identity])
    await sql.close()
  }

  const endedProcess = async (): Promise<string> => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" })
    await once(child, "spawn")
    const identity = identityOf(child.pid ?? 0)
    const exit = once(child, "exit")
    child.kill("SIGKILL")
    await exit
    if (identity === undefined) throw new Error("it cannot be told")
    return identity
  }

  const held = [
    { node: "first", epoch: 1 },
    { node: "first", epoch: 1 },
    { node: undefined, epoch: 0 },
    { node: undefined, epoch: 0 },
  ]

  test("frees the shards that a dead process of its machine held, under the same epochs", async () => {
    const found = await afterwards(async (schema) => setProcess(schema, await endedProcess()))
    expect(found.owners).toEqual(held.map(({ epoch }) => ({ node: undefined, epoch })))
    expect(found.members).toEqual(["second"])
  })

  test("does not free the shards of a living process", async () => {
    const found = await afterwards(async () => {})
    expect(found).toEqual({ owners: held, members: ["first", "second"] })
  })

  test("does not free shards of another machine, or of a process without an identity", async () => {
    const elsewhere = await afterwards(async (schema) => setProcess(schema, `x${await endedProcess()}`))
    const unknown = await afterwards((schema) => setProcess(schema, null))
    for (const found of [elsewhere, unknown])
      expect(found).toEqual({ owners: held, members: ["first", "second"] })
  })

  test("does not remove the entry of the process that has its name now, when it stops", async () => {
    const { url, schema } = server().database()
    const membersAfter = (use: (leases: ShardLeases["Service"]) => Effect.Effect<unknown, unknown>) =>
      Effect.flatMap(ShardLeases, (leases) => Effect.andThen(use(leases), leases.members)).pipe(
        Effect.provide(PostgresStore.layer({ url, shards })),
        Effect.scoped,
        Effect.runPromise,
      )
    await membersAfter((leases) => leases.announce({ node: "first", address: "", isLeaving: false }))
    await setProcess(schema, "elsewhere|1|2")
    expect(await membersAfter((leases) => leases.retire("first"))).toMatchObject([
      { node: "first", process: "elsewhere|1|2" },
    ])
  })
})
