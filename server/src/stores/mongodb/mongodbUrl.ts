// The URL of a MongoDB database: its required parts, the options that would make answers weaker, and its form for
// messages, which contains no password.
import { withoutCredentials } from "@punctual/api/withoutCredentials"
import type { Parsed } from "../../ports/Adapter.ts"

export const mongodbForm = "mongodb://user:password@host:27017/database"
export const mongodbSchemes = ["mongodb://", "mongodb+srv://"]

export interface MongodbAddress {
  readonly url: string
  readonly database: string
  /** For messages. */
  readonly shown: string
}

const shape = /^(mongodb(?:\+srv)?:\/\/)(?:([^@/?#\s]*)@)?([^@/?#\s]+)(?:\/([^/?#\s]*))?(?:\?([^#\s]*))?$/
const hosts = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/
const databaseName = /^[A-Za-z0-9_-]{1,38}$/

/** The values that each of these options may have. The store sets all of them itself. */
const allowed: Readonly<Record<string, ReadonlyArray<string>>> = {
  w: ["majority"],
  journal: ["true"],
  j: ["true"],
  readpreference: ["primary"],
  readconcernlevel: ["majority"],
}

export const parseMongodbUrl = (given: string): Parsed<MongodbAddress> => {
  const parts = shape.exec(given)
  if (parts === null && /@.*@|[/#?\s].*@/s.test(given.replace(/^[a-z+]*:\/\//, ""))) {
    return {
      problem: `must percent-encode @ / ? # and spaces in its user and password (as %40 %2F %3F %23 %20), as in ${mongodbForm}`,
    }
  }
  const [, scheme = "", , places = "", name = "", query = ""] = parts ?? []
  if (parts === null || !places.split(",").every((place) => hosts.test(place))) {
    return { problem: `must name a host and a database, as in ${mongodbForm}` }
  }
  if (scheme === "mongodb+srv://" && /[,:]/.test(places)) {
    return {
      problem: "must name one host without a port after mongodb+srv://, because DNS names the servers",
    }
  }
  const database = name === "" ? "punctual" : name
  if (!databaseName.test(database)) {
    return { problem: "must name a database of at most 38 of A-Z, a-z, 0-9, _ and -" }
  }
  for (const [option, value] of new URLSearchParams(query)) {
    const values = allowed[option.toLowerCase()]
    if (values !== undefined && !values.includes(value)) {
      return {
        problem: `must not contain ${option}=${/^[\w-]{1,20}$/.test(value) ? value : "…"}, with which an answered write could be lost or not be seen: remove it, the store uses ${option}=${values[0]}`,
      }
    }
  }
  return { value: { url: given, database, shown: mongodbUrlShown(given) } }
}

/** A list of hosts is shown, too. The query is not. */
export const mongodbUrlShown = (url: string): string => {
  const [, scheme = "", user, places = "", name = ""] = shape.exec(url) ?? []
  const isPlain = places !== "" && places.split(",").every((place) => hosts.test(place))
  if (!isPlain || (name !== "" && !databaseName.test(name))) return withoutCredentials(url)
  return `${scheme}${user === undefined ? "" : "…@"}${places}${name === "" ? "" : `/${name}`}`
}
