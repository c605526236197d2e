// Opens the store and checks it: the server is new enough and keeps what it has acknowledged, the schema belongs to
// this program, is not newer than it and is up to date, and the number of shards is the configured one. Every error is
// one sentence that names the place and says what to do.
import { lookup } from "node:dns/promises"
import { connectionTo, type Place } from "./Connections.ts"
import { codeOf, describe, stateOf } from "./failures.ts"
import { createFunctions } from "./functions.ts"
import { archiveTimeoutMs } from "./limits.ts"
import { migrations, oldestVersion, programVersion } from "./migrations/all.ts"
import { inUrl, type PostgresTls, parseTls, whyTlsFailed } from "./postgresTls.ts"
import { searchPathOf, sessionSettings } from "./sessionSettings.ts"

export type OpenFailureReason =
  | "invalidUrl"
  | "unreachable"
  | "refused"
  | "serverTooOld"
  | "notDurable"
  | "standby"
  | "otherEncoding"
  | "otherProgram"
  | "missing"
  | "newerSchema"
  | "olderSchema"
  | "otherShardCount"
  | "failed"

export class OpenFailure extends Error {
  readonly reason: OpenFailureReason

  constructor(reason: OpenFailureReason, message: string) {
    super(message)
    this.reason = reason
  }
}

export interface OpenedDatabase {
  readonly place: Place
  /** What an operator should know although the store works. */
  readonly warnings: ReadonlyArray<string>
}

const oldestServer = 15
const defaultSchema = "punctual"

/** Building an index on a full table takes time, and so does waiting for another node that migrates. */
const migrationTimeoutMs = 600_000

export interface DatabaseTarget {
  readonly schema: string
  /** Without the password. */
  readonly name: string
  readonly url: string
  readonly database: string
  readonly host: string
  /** Empty if the URL names none. */
  readonly user: string
  readonly tls: PostgresTls
}

export const openDatabase = async (url: string, shards: number): Promise<OpenedDatabase> => {
  const target = databaseTargetOf(url)
  const timeouts = {
    statement_timeout: String(migrationTimeoutMs),
    lock_timeout: String(migrationTimeoutMs),
    idle_in_transaction_session_timeout: String(migrationTimeoutMs),
  }
  const sql = connectionTo({ ...target, settings: { application_name: "punctual", ...timeouts } })
  try {
    const isCommitAsynchronous = await checkServer(sql, target)
    await sql.begin((tx) => migrate(tx, target, shards))
    await checkShards(sql, target, shards)
    const settings = sessionSettings(target.schema)
    return isCommitAsynchronous
      ? {
          place: { ...target, settings: { ...settings, synchronous_commit: "on" } },
          warnings: [asynchronous],
        }
      : { place: { ...target, settings }, warnings: [] }
  } catch (error) {
    throw await explained(error, target)
  } finally {
    await sql.close({ timeout: 0 }).catch(() => {})
  }
}

/**
 * Opens the store for an archive, with or without running services. It creates and migrates nothing, because that is
 * the task of the service. The session may be silent for as long as the reader of the archive takes.
 */
export const openForArchive = async (
  url: string,
): Promise<{ readonly place: Place; readonly shards: number }> => {
  const target = databaseTargetOf(url)
  const settings = {
    ...sessionSettings(target.schema),
    statement_timeout: String(archiveTimeoutMs),
    idle_in_transaction_session_timeout: "0",
  }
  const sql = connectionTo({ ...target, settings })
  try {
    const version = await versionOf(sql, target)
    if (version === 0) throw noStore(target)
    if (version > programVersion) throw newerSchema(target, version)
    if (version < programVersion) throw olderSchema(target, version)
    return { place: { ...target, settings }, shards: await storedShards(sql, target) }
  } catch (error) {
    throw await explained(error, target)
  } finally {
    await sql.close({ timeout: 0 }).catch(() => {})
  }
}

const asynchronous =
  "synchronous_commit is off at the PostgreSQL server, which could lose acknowledged timers in a crash: the " +
  "store's own sessions turn it on."

/** The parameters of the URL belong to the store. The driver gets only the mode of TLS from it. */
export const databaseTargetOf = (text: string): DatabaseTarget => {
  if (!URL.canParse(text)) {
    throw new OpenFailure(
      "invalidUrl",
      "The store's URL cannot be read: write it as postgres://user:password@host:5432/database.",
    )
  }
  const url = new URL(text)
  const schema = url.searchParams.get("schema") ?? defaultSchema
  const tls = parseTls(url.searchParams)
  if ("problem" in tls) throw new OpenFailure("invalidUrl", `The store's URL ${tls.problem}.`)
  url.search = `?sslmode=${tls.value.mode}`
  const database = decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username) || "postgres"
  const name = `postgres://${url.host}/${database} (schema ${schema})`
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith("pg_")) {
    throw new OpenFailure(
      "invalidUrl",
      `${name}: the name of a schema must be at most 63 of a-z, 0-9 and _, begin with a letter, and not begin with pg_.`,
    )
  }
  const user = decodeURIComponent(url.username)
  return { schema, name, url: url.toString(), database, host: url.hostname, user, tls: tls.value }
}

/** What a server reports about itself. */
export interface ServerRow {
  readonly version: number
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly encoding: string
  readonly is_standby: boolean
}

/** Returns whether commits are answered before they are on disk. */
const checkServer = async (sql: Bun.SQL, { name }: DatabaseTarget): Promise<boolean> => {
  const rows: ReadonlyArray<ServerRow> = await sql.unsafe(`SELECT
    current_setting('server_version_num')::integer / 10000 AS version, current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby`)
  const server = rows[0]
  if (server === undefined) throw new Error("the server did not report its version")
  const unfit = whyUnfit(server, name)
  if (unfit !== undefined) throw unfit
  return server.synchronous_commit === "off"
}

export const whyUnfit = (server: ServerRow, name: string): OpenFailure | undefined => {
  if (server.version < oldestServer) {
    return new OpenFailure(
      "serverTooOld",
      `${name} is on PostgreSQL ${server.version}: ${oldestServer} or newer is needed.`,
    )
  }
  for (const setting of ["fsync", "full_page_writes"] as const) {
    if (server[setting] === "off") {
      return new OpenFailure(
        "notDurable",
        `${name} has ${setting}=off and could lose or corrupt acknowledged timers in a crash: turn it on.`,
      )
    }
  }
  if (server.is_standby) {
    return new OpenFailure("standby", `${name} is a standby, which is read-only: name the primary.`)
  }
  return server.encoding === "UTF8"
    ? undefined
    : new OpenFailure(
        "otherEncoding",
        `${name} is encoded in ${server.encoding}: name a database that is encoded in UTF8.`,
      )
}

/** Runs in one transaction, on one node at a time. If the program dies in between, the old schema stays. */
const migrate = async (sql: Bun.SQL, target: DatabaseTarget, shards: number): Promise<void> => {
  const { schema } = target
  await sql.unsafe("SELECT pg_advisory_xact_lock(hashtext('punctual'), hashtext($1::text))", [schema])
  const version = await versionOf(sql, target)
  if (version > programVersion) throw newerSchema(target, version)
  if (version > 0 && version < oldestVersion) throw tooOldSchema(target, version)
  if (version === 0) await sql.unsafe(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
  await sql.unsafe(`SET LOCAL search_path TO ${searchPathOf(schema)}`)
  await sql.unsafe(`CREATE TABLE IF NOT EXISTS migrations (
    version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`)
  for (const { version: next, text } of migrations) {
    if (next <= version) continue
    await sql.unsafe(text).simple()
    await sql.unsafe("INSERT INTO migrations (version) VALUES ($1::integer)", [next])
  }
  await createFunctions(sql)
  if (version > 0) return
  const numbers = "SELECT generate_series(0, $1::integer - 1)"
  await sql.unsafe(`INSERT INTO shards (shard) ${numbers}`, [shards])
  await sql.unsafe(`INSERT INTO leases (shard) ${numbers}`, [shards])
}

export const noStore = ({ name }: DatabaseTarget): OpenFailure =>
  new OpenFailure("missing", `There is no store in ${name}: name the database that contains one.`)

export const olderSchema = ({ name }: DatabaseTarget, version: number): OpenFailure =>
  new OpenFailure(
    "olderSchema",
    `${name} has schema version ${version}, and this program reads ${programVersion}: run the ` +
      "service on it once to migrate it.",
  )

export const newerSchema = ({ name }: DatabaseTarget, version: number): OpenFailure =>
  new OpenFailure(
    "newerSchema",
    `${name} has schema version ${version}, and this program supports at most ${programVersion}: ` +
      "start the newer program that made it, or name another schema.",
  )

const tooOldSchema = ({ name }: DatabaseTarget, version: number): OpenFailure =>
  new OpenFailure(
    "olderSchema",
    `${name} has schema version ${version}, from before the first release, and this program cannot migrate ` +
      "it: name another schema.",
  )

export const versionOf = async (sql: Bun.SQL, { schema, name }: DatabaseTarget): Promise<number> => {
  const tables: ReadonlyArray<{ relname: string }> = await sql.unsafe(
    "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1::text) AND relkind IN ('r', 'p')",
    [`"${schema}"`],
  )
  if (tables.length === 0) return 0
  if (!["migrations", "timers", "shards"].every((own) => tables.some(({ relname }) => relname === own))) {
    throw new OpenFailure(
      "otherProgram",
      `${name} is a schema of another program: name another schema with ?schema=…`,
    )
  }
  const rows: ReadonlyArray<{ version: number }> = await sql.unsafe(
    `SELECT coalesce(max(version), 0) AS version FROM "${schema}".migrations`,
  )
  return rows[0]?.version ?? 0
}

export const storedShards = async (sql: Bun.SQL, { schema }: DatabaseTarget): Promise<number> => {
  const rows: ReadonlyArray<{ stored: number }> = await sql.unsafe(
    `SELECT count(*)::integer AS stored FROM "${schema}".shards`,
  )
  return rows[0]?.stored ?? 0
}

const checkShards = async (sql: Bun.SQL, target: DatabaseTarget, shards: number): Promise<void> => {
  const stored = await storedShards(sql, target)
  if (stored === shards) return
  throw new OpenFailure(
    "otherShardCount",
    `${target.name} has ${stored} ${stored === 1 ? "shard" : "shards"}, but TIMER_SHARDS is ${shards}: the number is fixed when the store is ` +
      `created; set TIMER_SHARDS to ${stored}, or name another schema.`,
  )
}

/** The driver reports a host name that cannot be resolved as a refused connection, so the name is looked up. */
export const explained = async (error: unknown, target: DatabaseTarget): Promise<OpenFailure> => {
  if (error instanceof OpenFailure) return error
  const { name, host } = target
  const state = stateOf(error)
  const message = error instanceof Error ? error.message : ""
  const refused =
    whyTlsFailed({ code: codeOf(error), state, message }, target.tls.mode) ?? whyRefused(state, target)
  if (refused !== undefined) {
    return new OpenFailure("refused", `${name} cannot be used (${describe(error)}): ${refused}`)
  }
  if (state === "" || /^(08|57P|53)/.test(state)) {
    const unresolved = state === "" ? await whyUnresolved(host) : undefined
    return new OpenFailure(
      "unreachable",
      unresolved === undefined
        ? `${name} cannot be reached (${describe(error)}): the server must run, and accept connections from here.`
        : `${name} cannot be reached: the host name ${host} cannot be resolved (${unresolved}). Correct it in ${inUrl}, or check the DNS settings of this machine.`,
    )
  }
  return new OpenFailure("failed", `${name} cannot be opened: ${describe(error)}.`)
}

/** Says what to do about the refusal. The text names the user, and never a password. */
const whyRefused = (state: string, { user, database, schema }: DatabaseTarget): string | undefined => {
  const who = user === "" ? "the user (the URL names none)" : `the user ${user}`
  if (state === "28P01")
    return `the server refused the password of ${who}: correct user and password in ${inUrl}.`
  if (state.startsWith("28")) {
    return `the server does not let ${who} log in: the user must exist and be allowed to connect (pg_hba.conf). The user is set in ${inUrl}.`
  }
  if (state.startsWith("3D")) {
    return `there is no database ${database}: create it, or name another in ${inUrl}.`
  }
  return state === "42501"
    ? `${who} must own the schema ${schema}, or be allowed to create it. The user is set in ${inUrl}.`
    : undefined
}

const lookupWithinMs = 5_000

/** `undefined` if the name can be resolved, or if the lookup takes too long. */
const whyUnresolved = async (host: string): Promise<string | undefined> => {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, lookupWithinMs)
  const found = lookup(host.replace(/^\[|\]$/g, "")).then(
    () => undefined,
    (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)),
  )
  try {
    return await Promise.race([found, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
