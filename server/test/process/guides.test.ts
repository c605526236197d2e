// README and the guides, followed as they are written. Every block that can run is run, in order, in one shell, against
// the real service. scripts/documents.ts defines how a block says that it cannot run, and why.
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { describeNats } from "@punctual/bus/testkit/NatsBinary"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { describeRabbit } from "@punctual/bus/testkit/RabbitBinaries"
import { RabbitServer } from "@punctual/bus/testkit/RabbitServer"
import { SQL } from "bun"
import { blocksOf, guides } from "../../../scripts/documents.ts"
import { Punctual } from "../../src/inprocess/Punctual.ts"
import { type DocumentServers, followDocument } from "../../testkit/DocumentShell.ts"
import { describeUnless } from "../../testkit/describeUnless.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../testkit/PostgresServer.ts"
import { ServiceProcess } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const withinMs = 260_000

const needed = ["bash", "curl", "node", "openssl", "sqlite3"].filter((program) => Bun.which(program) === null)
// Readers need these programs to follow the guides. Without them the test fails in CI, and is skipped with a reason
// elsewhere.
const isSkipped = needed.length > 0 && process.env["CI"] === undefined
const reason = isSkipped ? `no ${needed.join(" and no ")}` : undefined

/** The guides that need a server beside the service. */
const messages = "docs/guides/messages.md"
const rabbitmq = "docs/guides/rabbitmq.md"
const cluster = "docs/guides/cluster.md"

const expectToWork = async (path: string, servers?: DocumentServers) => {
  const { status, output } = await followDocument(path, servers)
  // The output is included, so that a failure shows where the guide went wrong.
  expect({ status, output }).toEqual({ status: 0, output })
}

describeUnless(reason, "the commands of a document work", () => {
  // Each document has a folder and ports of its own. --max-concurrency bounds how many are followed at once.
  test.concurrent.each(guides().filter((path) => ![messages, rabbitmq, cluster].includes(path)))(
    "%s",
    (path) => expectToWork(path),
    withinMs,
  )

  describeNats("with a broker", () => {
    test(
      messages,
      async () => {
        await using broker = await NatsServer.start()
        await expectToWork(messages, { broker: broker.address })
      },
      withinMs,
    )
  })

  describeRabbit("with RabbitMQ", () => {
    test(
      rabbitmq,
      async () => {
        await using server = await RabbitServer.start()
        await expectToWork(rabbitmq, { rabbitmq: server.address })
      },
      withinMs,
    )
  })

  describePostgres("installed", "with PostgreSQL", () => {
    test(
      cluster,
      async () => {
        await using server = await PostgresServer.start("installed")
        await expectToWork(cluster, { database: `${server.host}:${server.port}` })
      },
      withinMs,
    )
  })
})

/** Two timers of the namespace that the guide's repair names. */
const createTwo = async (store: string) => {
  await using punctual = await Punctual.open({ store })
  for (const timerId of ["sound", "damaged"]) {
    await punctual.create({ namespace: "shop", timerId, delay: "1d", callbackUrl: "http://127.0.0.1:9/hook" })
  }
}

const repairOn = (store: string): string => {
  const [block] = blocksOf("docs/guides/operate.md").filter(
    ({ note }) => note === `run: as a repair on ${store}`,
  )
  if (block === undefined) throw new Error(`the guide has no repair on ${store}`)
  return block.text
}

const doctorCode = async (store: string) => (await ServiceProcess.command(["doctor", "--store", store])).code

describe("the repair of a damaged row works", () => {
  test("on SQLite", async () => {
    using folder = new TemporaryFolder()
    const path = join(folder.path, "punctual.db")
    const store = `sqlite:${path}`
    await createTwo(store)
    {
      using database = new Database(path)
      database.run(
        "UPDATE bodies SET spec = '{' WHERE id = (SELECT id FROM timers WHERE namespace = 'shop' AND timer_id = 'damaged')",
      )
    }
    expect(await doctorCode(store)).toBe(1)
    {
      using database = new Database(path)
      database.run(repairOn("SQLite"))
    }
    expect(await doctorCode(store)).toBe(0)
  }, 60_000)

  describePostgres("installed", "with PostgreSQL", () => {
    test("on PostgreSQL", async () => {
      await using server = await PostgresServer.start("installed")
      await createTwo(server.url)
      await using sql = new SQL({ url: server.url, max: 1 })
      await sql.unsafe(
        "UPDATE punctual.timers SET spec = '{' WHERE namespace = 'shop' AND timer_id = 'damaged'",
      )
      expect(await doctorCode(server.url)).toBe(1)
      await sql.unsafe(repairOn("PostgreSQL"))
      expect(await doctorCode(server.url)).toBe(0)
    }, 60_000)
  })
})
