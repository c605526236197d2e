// The database that a URL names: where it is, which schema of it, and over which TLS.
import { DatabaseFailure } from "./DatabaseFailure.ts"
import { type DatabaseTls, parseTls } from "./databaseTls.ts"

/** How a product speaks of its store. */
export interface StoreWords {
  /** The setting with the URL, such as TIMER_STORE_URL. */
  readonly setting: string
  /** What the store keeps, in the plural, such as timers. */
  readonly kept: string
  /** The schema, if the URL names none. */
  readonly defaultSchema: string
}

export interface DatabaseTarget {
  readonly schema: string
  /** Without the password. */
  readonly name: string
  readonly url: string
  readonly database: string
  readonly host: string
  /** Empty if the URL names none. */
  readonly user: string
  readonly tls: DatabaseTls
  readonly words: StoreWords
}

/** Where a user corrects the URL. */
export const inUrl = ({ words }: Pick<DatabaseTarget, "words">): string =>
  `the store's URL (${words.setting})`

/** The parameters of the URL belong to the store. The driver gets only the mode of TLS from it. */
export const databaseTargetOf = (text: string, words: StoreWords): DatabaseTarget => {
  if (!URL.canParse(text)) {
    throw new DatabaseFailure(
      "invalidUrl",
      "The store's URL cannot be read: write it as postgres://user:password@host:5432/database.",
    )
  }
  const url = new URL(text)
  const schema = url.searchParams.get("schema") ?? words.defaultSchema
  const tls = parseTls(url.searchParams)
  if ("problem" in tls) throw new DatabaseFailure("invalidUrl", `The store's URL ${tls.problem}.`)
  url.search = `?sslmode=${tls.value.mode}`
  const database = decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username) || "postgres"
  const name = `postgres://${url.host}/${database} (schema ${schema})`
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith("pg_")) {
    throw new DatabaseFailure(
      "invalidUrl",
      `${name}: the name of a schema must be at most 63 of a-z, 0-9 and _, begin with a letter, and not begin with pg_.`,
    )
  }
  const user = decodeURIComponent(url.username)
  return { schema, name, url: url.toString(), database, host: url.hostname, user, tls: tls.value, words }
}
