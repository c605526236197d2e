// PostgreSQL as a store: a schema in a database that several nodes share.
import { parsePostgresUrl, postgresForm, postgresSchemes, postgresUrlShown } from "@punctual/sql/postgresUrl"
import { serverAdapter } from "../serverAdapter.ts"

export const postgres = serverAdapter<string>({
  name: "postgres",
  schemes: postgresSchemes,
  forms: { [postgresForm]: "a PostgreSQL database, which nodes can share" },
  parse: parsePostgresUrl,
  shown: (url) => postgresUrlShown(url.replace(/^postgresql:/, "postgres:")),
  open: async (url, opening) => (await import("./PostgresStore.ts")).PostgresStore.layer({ ...opening, url }),
  keep: async (url) => (await import("./postgresKeeper.ts")).postgresKeeper(url),
  tools: () => ({
    product: "PostgreSQL",
    backup: "PostgreSQL's own tools: pg_dump --schema=punctual, or a backup of the server",
    restore: "PostgreSQL's own tools, such as pg_restore",
  }),
})
