// The URL of a PostgreSQL database: its required parts, and its form for messages, which contains no password.
import { withoutCredentials } from "@punctual/api/withoutCredentials"
import { parseTls } from "./databaseTls.ts"
import { parseServerUrl } from "./serverUrl.ts"

export const postgresForm = "postgres://user:password@host:5432/database"

export const postgresSchemes = ["postgres://", "postgresql://"]

/** Returns the URL with the first of the schemes, no matter which one was given. */
export const parsePostgresUrl = (
  given: string,
): { readonly value: string } | { readonly problem: string } => {
  const url = parseServerUrl(given, "postgres", postgresForm)
  if ("problem" in url) return url
  const tls = parseTls(url.value.searchParams)
  return "problem" in tls ? tls : { value: `postgres://${given.replace(/^\w+:\/\//, "")}` }
}

/** Only the schema and the sslmode of the query are shown. */
export const postgresUrlShown = (url: string): string =>
  withoutCredentials(url, (query) => {
    const shown = query.split("&").filter((part) => /^(?:schema=[a-z0-9_]+|sslmode=[a-z-]{1,11})$/.test(part))
    return shown.length === 0 ? "…" : shown.join("&")
  })
