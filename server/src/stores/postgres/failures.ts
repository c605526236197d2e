// What PostgreSQL's errors mean to the store. The server takes care of its own disk: after a failed fsync it stops and
// recovers. From here this looks like a lost connection, and the store waits for it. The process ends only if the data
// cannot be trusted: corruption, or a missing schema.

import { isTlsCode } from "@punctual/sql/databaseTls"
import { driverCodeOf, driverPrefix, stateOf } from "@punctual/sql/errorCodes"
import { TimedOut } from "../SessionPool.ts"

/** Classes and codes of SQLSTATE, as prefixes. */
const fatalStates = ["XX001", "XX002", "42P01", "42703", "42883", "3F000"]

/** The same call may succeed on a new connection, or a moment later. */
const transientStates = ["08", "40", "53", "55P03", "57P", "25006"]

/** The connection is unusable: the server is stopping, or has become a standby. */
const brokenStates = ["08", "57P", "25006"]

export const isFatal = (error: unknown): boolean => isAmong(fatalStates, error)

export const isTransient = (error: unknown): boolean =>
  error instanceof TimedOut || isOfDriver(error) || isAmong(transientStates, error)

export const isBroken = (error: unknown): boolean => isOfDriver(error) || isAmong(brokenStates, error)

/** The error is caused by a value that its column cannot store. */
export const isOfValue = (error: unknown): boolean => isAmong(["22"], error)

/** The error is caused by a key that another row already has. */
export const isOfUsedKey = (error: unknown): boolean => stateOf(error) === "23505"

const isAmong = (states: ReadonlyArray<string>, error: unknown): boolean => {
  const state = stateOf(error)
  return states.some((prefix) => state.startsWith(prefix))
}

/** A connection whose handshake failed was never usable. The certificates may be in order a moment later. */
const isOfDriver = (error: unknown): boolean =>
  stateOf(error) === "" && (driverCodeOf(error).startsWith(driverPrefix) || isTlsCode(driverCodeOf(error)))
