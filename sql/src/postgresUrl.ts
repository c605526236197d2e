// The URL of a PostgreSQL database: its required parts, and its form for messages, which contains no password.
import { withoutCredentials } from "@punctual/api/withoutCredentials"
import { parseTls } from "./databaseTls.ts"

export const postgresForm = "postgres://user:password@host:5432/database"

export const postgresSchemes = ["postgres://", "postgresql://"]

/** Returns the URL with the first of the schemes, no matter which one was given. */
export const parsePostgresUrl = (
  given: string,
): { readonly value: string } | { readonly problem: string } => {
  const rest = given.replace(/^postgres(?:ql)?:\/\//, "")
  // A host cannot contain an @, and a password cannot contain these characters unless they are encoded.
  if (/[@#?/\s].*@/s.test(rest)) {
    return {
      problem: `must percent-encode @ / ? # and spaces in its user and password (as %40 %2F %3F %23 %20), as in ${postgresForm}`,
    }
  }
  const url = `postgres://${rest}`
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isWhole = parsed !== undefined && parsed.hostname !== "" && /^\/[^/]+$/.test(parsed.pathname)
  if (!isWhole || !isDecodable(parsed.username + parsed.password + parsed.pathname)) {
    return { problem: `must name a host and a database, as in ${postgresForm}` }
  }
  const tls = parseTls(parsed.searchParams)
  return "problem" in tls ? tls : { value: url }
}

/** Only the schema and the sslmode of the query are shown. */
export const postgresUrlShown = (url: string): string =>
  withoutCredentials(url, (query) => {
    const shown = query.split("&").filter((part) => /^(?:schema=[a-z0-9_]+|sslmode=[a-z-]{1,11})$/.test(part))
    return shown.length === 0 ? "…" : shown.join("&")
  })

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
