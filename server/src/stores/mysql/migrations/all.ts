// All migrations, in order. A released migration is never edited; a change of the schema is a new file. Migrations contain
// no logic. MySQL commits before and after each DDL statement, so a migration must be able to run again after a crash.
import documents from "@punctual/documents/mysql/schema.sql" with { type: "text" }
import schema from "./0001-schema.sql" with { type: "text" }

export interface MysqlMigration {
  readonly version: number
  readonly statements: ReadonlyArray<string>
}

/** No statement contains a semicolon, except in comments, which are removed. */
const statementsOf = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/^\s*--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "")

export const migrations: ReadonlyArray<MysqlMigration> = [
  { version: 1, statements: statementsOf(`${schema}\n${documents}`) },
]

/** The version that this program reads and writes. */
export const programVersion = migrations.at(-1)?.version ?? 0

/** The tables of a store. A database with other tables belongs to another program. */
export const ownTables: ReadonlyArray<string> = [
  "migrations",
  ...migrations.flatMap(({ statements }) =>
    statements.flatMap((statement) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1] ?? []),
  ),
]
