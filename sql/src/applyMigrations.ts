// Brings a schema to the version of the program. It runs in the caller's transaction, and in one process at a time. If the
// program dies in between, the old schema stays.

import { DatabaseFailure } from "./DatabaseFailure.ts"
import type { DatabaseTarget } from "./DatabaseTarget.ts"
import type { SqlSession } from "./SqlSession.ts"

/** Takes the schema from the version before to its own. A released migration is never edited. */
export interface Migration {
  readonly version: number
  readonly text: string
}

/** Other processes that open the same schema wait here until the transaction ends. */
export const lockSchema = async (
  sql: SqlSession,
  program: string,
  { schema }: DatabaseTarget,
): Promise<void> => {
  await sql.unsafe("SELECT pg_advisory_xact_lock(hashtext($1::text), hashtext($2::text))", [program, schema])
}

/** The store's own objects come before temporary objects. */
export const searchPathOf = (schema: string): string => `"${schema}", pg_temp`

/** Applies what comes after the version. The schema is locked, and has this version. 0 means that it is empty. */
export const applyMigrations = async (
  sql: SqlSession,
  { schema }: DatabaseTarget,
  version: number,
  migrations: ReadonlyArray<Migration>,
): Promise<void> => {
  if (version === 0) await sql.unsafe(`CREATE SCHEMA IF NOT EXISTS "${schema}"`)
  await sql.unsafe(`SET LOCAL search_path TO ${searchPathOf(schema)}`)
  await sql.unsafe(`CREATE TABLE IF NOT EXISTS migrations (
    version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`)
  for (const { version: next, text } of migrations) {
    if (next <= version) continue
    await sql.unsafe(text).simple()
    await sql.unsafe("INSERT INTO migrations (version) VALUES ($1::integer)", [next])
  }
}

/** The tables of the schema; empty if it does not exist. */
export const tablesIn = async (
  sql: SqlSession,
  { schema }: DatabaseTarget,
): Promise<ReadonlyArray<string>> => {
  const tables = (await sql.unsafe(
    "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1::text) AND relkind IN ('r', 'p')",
    [`"${schema}"`],
  )) as ReadonlyArray<{ readonly relname: string }>
  return tables.map(({ relname }) => relname)
}

/** The version of a schema that has the table of migrations. */
export const storedVersion = async (sql: SqlSession, { schema }: DatabaseTarget): Promise<number> => {
  const rows = (await sql.unsafe(
    `SELECT coalesce(max(version), 0) AS version FROM "${schema}".migrations`,
  )) as ReadonlyArray<{ readonly version: number }>
  return rows[0]?.version ?? 0
}

export const otherProgram = ({ name }: DatabaseTarget): DatabaseFailure =>
  new DatabaseFailure(
    "otherProgram",
    `${name} is a schema of another program: name another schema with ?schema=…`,
  )

export const newerSchema = (
  { name }: DatabaseTarget,
  version: number,
  programVersion: number,
): DatabaseFailure =>
  new DatabaseFailure(
    "newerSchema",
    `${name} has schema version ${version}, and this program supports at most ${programVersion}: ` +
      "start the newer program that made it, or name another schema.",
  )
