// PostgreSQL over TLS, against a real server: what each sslmode accepts, and what a failed start says.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { parsePostgresUrl } from "@punctual/sql/postgresUrl"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { type Certificates, makeCertificates } from "../../../testkit/Certificates.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../../testkit/PostgresServer.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"

const folders: Array<TemporaryFolder> = []
const newCertificates = (names?: string): Certificates => {
  const folder = new TemporaryFolder()
  folders.push(folder)
  return makeCertificates(folder.path, names)
}
afterAll(() => {
  for (const folder of folders.splice(0)) folder[Symbol.dispose]()
})

const withQuery = (url: string, query: Readonly<Record<string, string>>): string =>
  `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams(query)}`

/** "opened", or the reason why not. The settings check the URL first, as they do at a start. */
const opening = async (url: string): Promise<string> => {
  const parsed = parsePostgresUrl(url)
  if ("problem" in parsed) return parsed.problem
  const opened = await Effect.runPromise(
    Effect.flatMap(ShardLeases, (leases) => leases.owners).pipe(
      Effect.provide(PostgresStore.layer({ url: parsed.value, shards: 1, connections: 2 })),
      Effect.scoped,
      Effect.result,
    ),
  )
  if (opened._tag === "Success") return "opened"
  expect(opened.failure.message).not.toContain("\n")
  return opened.failure.message
}

/** Enough for a test that starts a server of its own, also beside other tests. */
const startsServerMs = 30_000

/** Only encrypted connections are let in. */
const onlyTls = ["hostssl all all all trust"]
const onlyWithCertificate = ["hostssl all all all trust clientcert=verify-ca"]

describePostgres("packaged", "a PostgreSQL server with TLS", () => {
  let certificates: Certificates
  let server: PostgresServer
  beforeAll(async () => {
    certificates = newCertificates()
    server = await PostgresServer.start("packaged", { tls: certificates, access: onlyTls })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const openingWith = (query: Readonly<Record<string, string>>, host = "127.0.0.1") =>
    opening(withQuery(server.database().url.replace("127.0.0.1", host), query))

  test("is reached over TLS with every sslmode but disable", async () => {
    for (const sslmode of ["prefer", "require"]) expect(await openingWith({ sslmode })).toBe("opened")
    for (const sslmode of ["verify-ca", "verify-full"]) {
      const query = { sslmode, sslrootcert: certificates.caFile }
      expect(await openingWith(query)).toBe("opened")
      expect(await openingWith(query, "localhost")).toBe("opened")
    }
    for (const query of [{}, { sslmode: "disable" }]) {
      const refusal = await openingWith(query)
      expect(refusal).toContain("the server may want TLS: add sslmode=")
      expect(refusal).toContain("TIMER_STORE_URL")
    }
  })

  test("is not trusted if another authority signed its certificate", async () => {
    const others = newCertificates()
    for (const sslmode of ["verify-ca", "verify-full"]) {
      for (const query of [{ sslmode }, { sslmode, sslrootcert: others.caFile }]) {
        const refusal = await openingWith(query)
        expect(refusal).toContain("cannot be trusted")
        expect(refusal).toContain("sslrootcert in the store's URL (TIMER_STORE_URL)")
      }
    }
  })

  test("is checked whatever the environment says about certificates", async () => {
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"]
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0"
    try {
      expect(await openingWith({ sslmode: "verify-full" })).toContain("cannot be trusted")
    } finally {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before
    }
  })
})

describePostgres("packaged", "a PostgreSQL server whose certificate is for another host", () => {
  test(
    "is refused by verify-full, which names the host, and accepted by verify-ca",
    async () => {
      const certificates = newCertificates("DNS:elsewhere.test")
      await using server = await PostgresServer.start("packaged", { tls: certificates })
      const sslrootcert = certificates.caFile
      const { url } = server.database()
      const refusal = await opening(withQuery(url, { sslmode: "verify-full", sslrootcert }))
      expect(refusal).toContain("is for another host")
      expect(refusal).toContain("TIMER_STORE_URL")
      expect(await opening(withQuery(url, { sslmode: "verify-ca", sslrootcert }))).toBe("opened")
    },
    startsServerMs,
  )
})

describePostgres("packaged", "a PostgreSQL server that wants a client certificate", () => {
  test(
    "takes the one of its authority, and the refusal of others names the parameters",
    async () => {
      const certificates = newCertificates()
      const others = newCertificates()
      await using server = await PostgresServer.start("packaged", {
        tls: certificates,
        access: onlyWithCertificate,
      })
      const { url } = server.database()
      const ofServer = { sslmode: "verify-full", sslrootcert: certificates.caFile }
      const pair = ({ certFile, keyFile }: Certificates) => ({ sslcert: certFile, sslkey: keyFile })
      expect(await opening(withQuery(url, { ...ofServer, ...pair(certificates) }))).toBe("opened")
      expect(await opening(withQuery(url, { sslmode: "require", ...pair(certificates) }))).toBe("opened")
      const missing = await opening(withQuery(url, ofServer))
      expect(missing).toContain("wants a client certificate: name its files with sslcert and sslkey")
      const untrusted = await opening(withQuery(url, { ...ofServer, ...pair(others) }))
      expect(untrusted).toContain("may not trust the client certificate. Check sslcert and sslkey")
      for (const refusal of [missing, untrusted]) expect(refusal).toContain("TIMER_STORE_URL")
    },
    startsServerMs,
  )
})

describePostgres("packaged", "a PostgreSQL server without TLS", () => {
  test(
    "is accepted by prefer, and refused by each mode that requires TLS",
    async () => {
      await using server = await PostgresServer.start("packaged")
      const { url } = server.database()
      for (const sslmode of ["disable", "prefer"])
        expect(await opening(withQuery(url, { sslmode }))).toBe("opened")
      for (const sslmode of ["require", "verify-ca", "verify-full"]) {
        const refusal = await opening(withQuery(url, { sslmode }))
        expect(refusal).toContain(`offers no TLS, and sslmode=${sslmode} requires it`)
        expect(refusal).toContain("TIMER_STORE_URL")
      }
    },
    startsServerMs,
  )
})

describe("the parameters of the URL", () => {
  const problemOf = (query: string): string => {
    const parsed = parsePostgresUrl(`postgres://ann:hunter2@db/timers?${query}`)
    if (!("problem" in parsed)) throw new Error(`accepted: ${query}`)
    expect(parsed.problem).not.toContain("hunter2")
    return `${parsed.problem}.`
  }

  test("that are unknown or given twice are refused, and no value is shown", () => {
    expect(problemOf("connect_timeout=5")).toContain("must not contain the parameter connect_timeout")
    expect(problemOf("password=hunter2")).toContain("must not contain the parameter password")
    expect(problemOf("hunter2%20x=1")).toContain("must not contain an unknown parameter")
    expect(problemOf("sslMode=require")).toContain("the parameter sslMode after the ?, only schema, sslmode")
    expect(problemOf("sslmode=require&sslmode=disable")).toContain("the parameter sslmode only once")
    for (const mode of ["allow", "", "hunter2", "REQUIRE"]) {
      expect(problemOf(`sslmode=${mode}`)).toContain("disable, prefer, require, verify-ca or verify-full")
    }
  })

  test("that contradict each other are refused", () => {
    const { caFile, certFile, keyFile } = newCertificates()
    for (const mode of ["", "&sslmode=disable", "&sslmode=prefer", "&sslmode=require"]) {
      expect(problemOf(`sslrootcert=${caFile}${mode}`)).toContain("verify-full if it has sslrootcert")
    }
    const only = "must have both sslcert and sslkey, or none"
    expect(problemOf(`sslmode=require&sslcert=${certFile}`)).toContain(only)
    expect(problemOf(`sslmode=require&sslkey=${keyFile}`)).toContain(only)
    for (const mode of ["", "&sslmode=disable", "&sslmode=prefer"]) {
      expect(problemOf(`sslcert=${certFile}&sslkey=${keyFile}${mode}`)).toContain(
        "if it has sslcert and sslkey",
      )
    }
    expect(problemOf(`sslmode=require&sslcert=${caFile}&sslkey=${keyFile}`)).toContain(
      "an sslkey that belongs to the certificate in sslcert",
    )
  })

  test("must name files that can be read and contain what they should", () => {
    const { caFile, certFile, keyFile } = newCertificates()
    const folder = new TemporaryFolder()
    folders.push(folder)
    const text = join(folder.path, "text.pem")
    writeFileSync(text, "no PEM")
    const ofRoot = (file: string) => problemOf(`sslmode=verify-ca&sslrootcert=${file}`)
    expect(ofRoot(join(folder.path, "absent"))).toContain(
      "its sslrootcert must name a file that can be read (ENOENT)",
    )
    expect(ofRoot("")).toContain("its sslrootcert must name a file")
    expect(ofRoot(text)).toContain(
      "its sslrootcert must name a PEM file that contains -----BEGIN CERTIFICATE",
    )
    const ofPair = (cert: string, key: string) => problemOf(`sslmode=require&sslcert=${cert}&sslkey=${key}`)
    expect(ofPair(text, keyFile)).toContain("its sslcert must name a PEM file")
    expect(ofPair(certFile, caFile)).toContain("its sslkey must name a PEM file that contains a private key")
    const good = parsePostgresUrl(
      `postgres://db/timers?schema=a&sslmode=verify-full&sslrootcert=${caFile}&sslcert=${certFile}&sslkey=${keyFile}`,
    )
    expect(good).toHaveProperty("value")
  })
})
