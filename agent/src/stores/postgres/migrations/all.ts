// All migrations of the agent's schema, in order. A released migration is never edited; a change of the schema is a new
// file. The first one also accepts a schema that was made before there were numbers.
import type { Migration } from "@punctual/sql/applyMigrations"
import schema from "./0001-schema.sql" with { type: "text" }

export const callMigrations: ReadonlyArray<Migration> = [{ version: 1, text: schema }]

/** The version that this program reads and writes. */
export const callSchemaVersion = callMigrations.at(-1)?.version ?? 0
