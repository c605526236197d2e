// The URL of a Cassandra cluster: hosts, keyspace and data centre, and its form for messages, which has no password.
import { withoutCredentials } from "@punctual/api/withoutCredentials"
import type { Parsed } from "../../ports/Adapter.ts"

export const cassandraForm = "cassandra://user:password@host1:9042,host2:9042/keyspace?dc=datacenter1"

export const cassandraSchemes = ["cassandra://"]

export interface CassandraTarget {
  /** Each with its port. */
  readonly hosts: ReadonlyArray<string>
  readonly keyspace: string
  readonly dataCenter: string
  /** The fewest copies of each row in the data centre. */
  readonly replication: number
  /** Several stores can share a keyspace. Each has a name. */
  readonly store: string
  readonly user?: string
  readonly password?: string
  readonly tls: "off" | "verify"
  readonly caFile?: string
  /** The operator accepts that nodes acknowledge writes before they are on disk. */
  readonly acceptsPeriodicSync: boolean
  /** The URL for messages. */
  readonly shown: string
}

/** Login, hosts, keyspace and parameters. */
const form = /^cassandra:\/\/(?:([^@/]*)@)?([^@/?#]+)\/([^/?#]+)(?:\?([^#]*))?$/

const parameters = ["dc", "replication", "store", "tls", "ca", "commitlog"]
const name = /^[a-zA-Z][a-zA-Z0-9_]{0,47}$/

export const parseCassandraUrl = (url: string): Parsed<CassandraTarget> => {
  const parts = form.exec(url)
  if (parts === null) return { problem: `must name a host and a keyspace, as in ${cassandraForm}` }
  const [, login = "", hosts = "", keyspace = "", query = ""] = parts
  const asked = new URLSearchParams(query)
  const unknown = [...asked.keys()].find((key) => !parameters.includes(key))
  if (unknown !== undefined) return { problem: `must have no parameters other than ${parameters.join(", ")}` }
  const found = hosts.split(",").flatMap((host) => hostOf(host) ?? [])
  if (found.length < hosts.split(",").length)
    return { problem: `must name hosts as host or host:port, as in ${cassandraForm}` }
  const store = asked.get("store") ?? "punctual"
  if (!name.test(keyspace) || !name.test(store))
    return { problem: "must name a keyspace and a store of letters, digits and _ that begin with a letter" }
  const replication = asked.get("replication") ?? "3"
  if (!/^[1-9]$/.test(replication)) return { problem: "must have a replication of 1 to 9" }
  const tls = asked.get("tls") ?? (asked.has("ca") ? "verify" : "off")
  if (tls !== "off" && tls !== "verify") return { problem: "must have tls=off or tls=verify" }
  const commitlog = asked.get("commitlog") ?? "durable"
  if (commitlog !== "durable" && commitlog !== "periodic")
    return { problem: "must have commitlog=durable or commitlog=periodic" }
  const [user, password] = loginOf(login)
  if (user === undefined && login !== "")
    return { problem: `must percent-encode @ / : % in its user and password, as in ${cassandraForm}` }
  return {
    value: {
      hosts: found,
      keyspace: keyspace.toLowerCase(),
      dataCenter: asked.get("dc") ?? "datacenter1",
      replication: Number(replication),
      store,
      ...(user === undefined ? {} : { user, password: password ?? "" }),
      tls,
      ...(asked.has("ca") ? { caFile: asked.get("ca") ?? "" } : {}),
      acceptsPeriodicSync: commitlog === "periodic",
      shown: cassandraUrlShown(url),
    },
  }
}

const hostOf = (text: string): string | undefined => {
  const parts = /^([a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?$/.exec(text)
  if (parts === null || Number(parts[2] ?? 1) > 65_535) return undefined
  return `${parts[1]}:${parts[2] ?? "9042"}`
}

const loginOf = (login: string): readonly [user?: string, password?: string] => {
  const parts = login.split(":")
  if (login === "" || parts.length > 2) return []
  try {
    return [decodeURIComponent(parts[0] ?? ""), decodeURIComponent(parts[1] ?? "")]
  } catch {
    return []
  }
}

/** Only harmless parameters are shown. */
export const cassandraUrlShown = (url: string): string => {
  const shownQuery = (query: string) => {
    const shown = query.split("&").filter((part) => /^(?:dc|store|replication)=[\w-]{1,48}$/.test(part))
    return shown.length === 0 ? "…" : shown.join("&")
  }
  const [, login = "", hosts = "", keyspace = "", query = ""] = form.exec(url) ?? []
  if (keyspace === "" || hosts.split(",").some((host) => hostOf(host) === undefined))
    return withoutCredentials(url, shownQuery)
  return `cassandra://${login === "" ? "" : "…@"}${hosts}/${keyspace}${query === "" ? "" : `?${shownQuery(query)}`}`
}
