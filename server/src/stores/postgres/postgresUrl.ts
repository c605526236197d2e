// The URL of a PostgreSQL database: what it must say, and how it is shown without what may be a password.
import { type Parsed, withoutCredentials } from "../../ports/Adapter.ts"

export const postgresForm = "postgres://user:password@host:5432/database"

export const postgresSchemes = ["postgres://", "postgresql://"]

/** With the first of the schemes, whichever it was given with. */
export const parsePostgresUrl = (given: string): Parsed<string> => {
  const rest = given.replace(/^postgres(?:ql)?:\/\//, "")
  // No host has an @ in it, nor a password one of these unless it is encoded.
  if (/[@#?/\s].*@/s.test(rest)) {
    return {
      problem: `must have @ / ? # and spaces in its user and password percent-encoded (%40 %2F %3F %23 %20), as in ${postgresForm}`,
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

/** Of the query only the schema is shown. */
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
