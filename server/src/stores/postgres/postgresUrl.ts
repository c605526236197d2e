// The URL of a PostgreSQL database: its required parts, and its form for messages, which contains no password.
import { type Parsed, withoutCredentials } from "../../ports/Adapter.ts"

export const postgresForm = "postgres://user:password@host:5432/database"

export const postgresSchemes = ["postgres://", "postgresql://"]

/** Returns the URL with the first of the schemes, no matter which one was given. */
export const parsePostgresUrl = (given: string): Parsed<string> => {
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
  return { value: url }
}

/** Only the schema of the query is shown. */
export const postgresUrlShown = (url: string): string =>
  withoutCredentials(url, (query) => {
    const schema = /(?:^|&)schema=([a-z0-9_]+)(?=&|$)/.exec(query)?.[1]
    return schema === undefined ? "…" : `schema=${schema}`
  })

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
