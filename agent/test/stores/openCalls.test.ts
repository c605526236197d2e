// How the agent opens its schema in PostgreSQL: over TLS as its URL asks, with numbered migrations, and with errors that
// say what to do.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { type Certificates, makeCertificates } from "@punctual/server/testkit/Certificates"
import { describePostgres } from "@punctual/server/testkit/PostgresBinaries"
import { PostgresServer } from "@punctual/server/testkit/PostgresServer"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { SQL } from "bun"
import { openCalls } from "../../src/stores/postgres/openCalls.ts"

/** "opened", or why not. */
const opening = async (url: string): Promise<string> => {
  try {
    const calls = await openCalls(url, 1)
    await calls.close()
    return "opened"
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describePostgres("packaged", "on a server that lets in only clients with a certificate", () => {
  const folder = new TemporaryFolder()
  let certificates: Certificates
  let server: PostgresServer
  beforeAll(async () => {
    certificates = makeCertificates(folder.path)
    server = await PostgresServer.start("packaged", {
      tls: certificates,
      access: ["hostssl all all all trust clientcert=verify-ca"],
    })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const openingWith = (query: Readonly<Record<string, string>>) =>
    opening(`${server.database().url}&${new URLSearchParams(query)}`)

  test("the agent uses the authority and the certificate that its URL names", async () => {
    const { caFile, certFile, keyFile } = certificates
    const own = { sslcert: certFile, sslkey: keyFile }
    expect(await openingWith({ sslmode: "verify-full", sslrootcert: caFile, ...own })).toBe("opened")
    expect(await openingWith({ sslmode: "require", ...own })).toBe("opened")
    const refusals = [
      [{}, "the server may want TLS"],
      [{ sslmode: "verify-full", ...own }, "cannot be trusted"],
      [{ sslmode: "verify-full", sslrootcert: caFile }, "wants a client certificate"],
    ] as const
    for (const [query, why] of refusals) {
      const refusal = await openingWith(query)
      expect(refusal).toContain(why)
      expect(refusal).toContain("the store's URL (AGENT_STORE_URL)")
    }
  })
})

describePostgres("packaged", "the agent's schema", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start("packaged")
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const run = async (text: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
    await using sql = new SQL({ url: server.url, max: 1 })
    return await sql.unsafe(text)
  }

  test("is made once by processes that start together, and its version is recorded", async () => {
    const { url, schema } = server.database()
    const openings = await Promise.all(Array.from({ length: 4 }, () => opening(url)))
    expect(openings).toEqual(["opened", "opened", "opened", "opened"])
    expect(await run(`SELECT version FROM ${schema}.migrations`)).toEqual([{ version: 1 }])
  })

  test("gets a number if it was made before there were numbers, and keeps its calls", async () => {
    const { url, schema } = server.database()
    expect(await opening(url)).toBe("opened")
    await run(`DROP TABLE ${schema}.migrations`)
    await run(`INSERT INTO ${schema}.requests VALUES ('acme', 'call-1', '\\x00')`)
    expect(await opening(url)).toBe("opened")
    expect(await run(`SELECT version FROM ${schema}.migrations`)).toEqual([{ version: 1 }])
    expect(await run(`SELECT service_call_id FROM ${schema}.requests`)).toHaveLength(1)
  })

  test("is refused and left alone if a newer program or another program made it", async () => {
    const newer = server.database()
    expect(await opening(newer.url)).toBe("opened")
    await run(`INSERT INTO ${newer.schema}.migrations (version) VALUES (99)`)
    expect(await opening(newer.url)).toContain("schema version 99, and this program supports at most 1")
    const other = server.database()
    await run(`CREATE SCHEMA ${other.schema}`)
    await run(`CREATE TABLE ${other.schema}.timers (id text)`)
    expect(await opening(other.url)).toContain("is a schema of another program")
    const tables = await run(`SELECT tablename FROM pg_tables WHERE schemaname = '${other.schema}'`)
    expect(tables).toEqual([{ tablename: "timers" }])
  })
})

describe("a database that cannot be reached", () => {
  test("is named without its password", async () => {
    const refusal = await opening("postgres://ann:hunter2@127.0.0.1:1/calls")
    expect(refusal).toContain("postgres://127.0.0.1:1/calls (schema agent) cannot be reached")
    expect(refusal).not.toContain("hunter2")
  })
})
