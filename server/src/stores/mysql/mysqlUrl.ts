// The URL of a database of MySQL, MariaDB or TiDB: its required parts, and its form for messages, which contains no
// password. The scheme names the product, because each needs other settings.
import { withoutCredentials } from "@punctual/api/withoutCredentials"
import { type DatabaseTls, parseTls } from "@punctual/sql/databaseTls"

export const flavours = ["mysql", "mariadb", "tidb"] as const

export type Flavour = (typeof flavours)[number]

export const titles: { readonly [flavour in Flavour]: string } = {
  mysql: "MySQL",
  mariadb: "MariaDB",
  tidb: "TiDB",
}

export const formOf = (flavour: Flavour): string =>
  `${flavour}://user:password@host:${flavour === "tidb" ? 4_000 : 3_306}/database`

export interface MysqlTarget {
  readonly flavour: Flavour
  /** For the driver. */
  readonly url: string
  /** Without the password. */
  readonly name: string
  readonly host: string
  readonly database: string
  /** Empty if the URL names none. */
  readonly user: string
  readonly tls: DatabaseTls
}

export const parseMysqlUrl = (
  given: string,
): { readonly value: MysqlTarget } | { readonly problem: string } => {
  const flavour = flavours.find((name) => given.startsWith(`${name}://`)) ?? "mysql"
  const form = formOf(flavour)
  const rest = given.replace(/^\w+:\/\//, "")
  // A host cannot contain an @, and a password cannot contain these characters unless they are encoded.
  if (/[@#?/\s].*@/s.test(rest)) {
    return {
      problem: `must percent-encode @ / ? # and spaces in its user and password (as %40 %2F %3F %23 %20), as in ${form}`,
    }
  }
  const text = `mysql://${rest}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  const parts = url && decoded([url.pathname.slice(1), url.username, url.password])
  if (url === undefined || url.hostname === "" || parts === undefined || !/^\/[^/]+$/.test(url.pathname)) {
    return { problem: `must name a host and a database, as in ${form}` }
  }
  const [database = "", user = ""] = parts
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(database)) {
    return { problem: "must name a database of 1 to 64 letters, digits, _ and -" }
  }
  const tls = parseTls(url.searchParams, [])
  if ("problem" in tls) return tls
  if (tls.value.mode === "prefer") {
    return { problem: "must have an sslmode other than prefer, which this driver cannot do" }
  }
  if (url.port === "") url.port = flavour === "tidb" ? "4000" : "3306"
  const name = `${flavour}://${url.host}/${database}`
  url.search = ""
  const target = { flavour, url: url.toString(), name, host: url.hostname, database, user, tls: tls.value }
  return { value: target }
}

/** Only the sslmode of the query is shown. */
export const mysqlUrlShown = (url: string): string =>
  withoutCredentials(url, (query) => {
    const shown = query.split("&").filter((part) => /^sslmode=[a-z-]{1,11}$/.test(part))
    return shown.length === 0 ? "…" : shown.join("&")
  })

const decoded = (parts: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  try {
    return parts.map((part) => decodeURIComponent(part))
  } catch {
    return undefined
  }
}
