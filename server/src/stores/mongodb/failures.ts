// What errors of MongoDB mean to the store, and what a person can do about them.
import { CommandTimedOut } from "@punctual/documents/mongodb/Commands"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import {
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from "../../../../drivers/mongodb/mongodb.ts"
import { ShardMissing } from "./Commits.ts"

/** The primary steps down, stops, or is not elected yet. */
const transientCodes = new Set<unknown>([6, 7, 89, 91, 189, 262, 10107, 11600, 11602, 13435, 13436])

/** The data is gone, so nothing may be acknowledged any more. */
export const isFatal = (error: unknown): boolean => error instanceof ShardMissing

/** The same read may succeed a moment later. */
export const isTransient = (error: unknown): boolean =>
  error instanceof CommandTimedOut ||
  error instanceof MongoNetworkError ||
  error instanceof MongoServerSelectionError ||
  (error instanceof MongoServerError && transientCodes.has(error.code))

/** At most this many characters, because a server may quote a whole document. */
const mostCharacters = 300

export const mongodbErrorText = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof MongoServerError && error.code !== undefined ? `, code ${error.code}` : ""
  return `${message.slice(0, mostCharacters)}${code}`
}

const url = "TIMER_STORE_URL"

export const explainedMongodb = (error: unknown, shown: string): DatabaseFailure =>
  new DatabaseFailure("failed", `${shown} cannot be ${causeOf(error, mongodbErrorText(error))}`)

const causeOf = (error: unknown, what: string): string => {
  const code = error instanceof MongoServerError ? error.code : undefined
  if (code === 18 || /Authentication failed/i.test(what))
    return `used (${what}): the server refused the user or the password. Correct them in ${url}; if the user is not in the database admin, add authSource=<its database>.`
  if (code === 13 || code === 8000)
    return `used (${what}): its user needs the role readWrite on the database, and an answer to hello and buildInfo. The user is set in ${url}.`
  if (/certificate|self.signed|\bTLS\b|\bSSL\b|wrong version number/i.test(what))
    return `reached with TLS (${what}): set tls=true only if the server uses TLS, tlsCAFile=<file> for its certificate authority, and a host name that its certificate has, in ${url}.`
  if (/journal/i.test(what))
    return `used (${what}): the server runs without a journal and could lose acknowledged timers. Start it with a journal.`
  if (isTransient(error))
    return `reached (${what}): the server must run, have a primary, and accept connections from here. If it needs TLS, add tls=true to ${url}.`
  return `opened: ${what}.`
}
