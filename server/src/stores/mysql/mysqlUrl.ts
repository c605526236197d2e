// The URL of a database of MySQL, MariaDB or TiDB: its required parts, and its form for messages, which contains no
// password. The scheme names the product, because each needs other settings.
import { withoutCredentials } from "@punctual/api/withoutCredentials"
import { type DatabaseTls, parseTls } from "@punctual/sql/databaseTls"
import { parseServerUrl } from "@punctual/sql/serverUrl"
import type { Parsed } from "../../ports/Adapter.ts"

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

export const parseMysqlUrl = (given: string): Parsed<MysqlTarget> => {
  const flavour = flavours.find((name) => given.startsWith(`${name}://`)) ?? "mysql"
  const parsed = parseServerUrl(given, "mysql", formOf(flavour))
  if ("problem" in parsed) return parsed
  const { value: url } = parsed
  const [database, user] = [decodeURIComponent(url.pathname.slice(1)), decodeURIComponent(url.username)]
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
