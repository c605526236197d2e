// All migrations, in order: entry n takes the schema from version n to n + 1. A released migration is never edited; a
// change of the schema is a new file.
import documents from "@punctual/documents/sqlite/schema.sql" with { type: "text" }
import timers from "./0001-timers.sql" with { type: "text" }
import askedAt from "./0002-asked-at.sql" with { type: "text" }
import namespaces from "./0003-namespaces.sql" with { type: "text" }
import dueOrder from "./0004-due-order.sql" with { type: "text" }
import settingsToDocuments from "./0005-documents.sql" with { type: "text" }
import tags from "./0006-tags.sql" with { type: "text" }
import lookups from "./0007-lookups.sql" with { type: "text" }
import terms from "./0008-terms.sql" with { type: "text" }
import level0 from "./0009-level0.sql" with { type: "text" }
import runs from "./0010-runs.sql" with { type: "text" }

export const migrations: ReadonlyArray<string> = [
  timers,
  askedAt,
  namespaces,
  dueOrder,
  `${documents}\n${settingsToDocuments}`,
  tags,
  lookups,
  terms,
  level0,
  runs,
]
