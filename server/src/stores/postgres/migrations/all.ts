// All migrations, in order. Each takes the schema from the previous version to its own. A released migration is never
// edited; a change of the schema is a new file. Migrations contain no logic: functions are in functions.sql.
import documents from "@punctual/documents/postgres/schema.sql" with { type: "text" }
import type { Migration } from "@punctual/sql/applyMigrations"
import schema from "./0007-schema.sql" with { type: "text" }
import functions from "./0008-functions.sql" with { type: "text" }
import settingsToDocuments from "./0009-documents.sql" with { type: "text" }
import lookups from "./0010-lookups.sql" with { type: "text" }
import tags from "./0011-tags.sql" with { type: "text" }
import traceparent from "./0012-traceparent.sql" with { type: "text" }
import signing from "./0013-signing.sql" with { type: "text" }

/** The first migration creates a new store. */
export const migrations: readonly [Migration, ...ReadonlyArray<Migration>] = [
  { version: 7, text: schema },
  { version: 8, text: functions },
  { version: 9, text: `${documents}\n${settingsToDocuments}` },
  { version: 10, text: lookups },
  { version: 11, text: tags },
  { version: 12, text: traceparent },
  { version: 13, text: signing },
]

/** The oldest version that can be migrated. */
export const oldestVersion = migrations[0].version

/** The version that this program reads and writes. */
export const programVersion = migrations.at(-1)?.version ?? oldestVersion
