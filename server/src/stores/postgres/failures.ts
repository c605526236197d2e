// What PostgreSQL's errors mean to the store. The server takes care of its own disk: after a failed fsync it stops and
// recovers. From here this looks like a lost connection, and the store waits for it. The process ends only if the data
// cannot be trusted: corruption, or a missing schema.
import { isTlsCode } from "./postgresTls.ts"

/** Classes and codes of SQLSTATE, as prefixes. */
const fatalStates = ["XX001", "XX002", "42P01", "42703", "42883", "3F000"]

/** The same call may succeed on a new connection, or a moment later. */
const transientStates = ["08", "40", "53", "55P03", "57P", "25006"]

/** The connection is unusable: the server is stopping, or has become a standby. */
const brokenStates = ["08", "57P", "25006"]

/** A call took too long. Its result is unknown. */
export class TimedOut extends Error {}

/** The prefix of the driver's own error codes. Most of them mean a lost connection. */
const driverPrefix = "ERR_POSTGRES_"

export const stateOf = (error: unknown): string => textIn(error, "errno")

export const codeOf = (error: unknown): string => textIn(error, "code")

export const isFatal = (error: unknown): boolean => isAmong(fatalStates, error)

export const isTransient = (error: unknown): boolean =>
  error instanceof TimedOut || isOfDriver(error) || isAmong(transientStates, error)

export const isBroken = (error: unknown): boolean =>
  error instanceof TimedOut || isOfDriver(error) || isAmong(brokenStates, error)

/** The error is caused by a value that its column cannot store. */
export const isOfValue = (error: unknown): boolean => isAmong(["22"], error)

/** The error is caused by a key that another row already has. */
export const isOfUsedKey = (error: unknown): boolean => stateOf(error) === "23505"

/** The driver's code for an unreachable server. A host name that cannot be resolved has the same code. */
const notConnected = `${driverPrefix}CONNECTION_REFUSED`

export const describe = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const code = stateOf(error) || codeOf(error)
  if (code === notConnected) return message
  return code === "" || message.includes(code) ? message : `${message} (${code})`
}

const isAmong = (states: ReadonlyArray<string>, error: unknown): boolean => {
  const state = stateOf(error)
  return states.some((prefix) => state.startsWith(prefix))
}

/** A connection whose handshake failed was never usable. The certificates may be in order a moment later. */
const isOfDriver = (error: unknown): boolean =>
  stateOf(error) === "" && (codeOf(error).startsWith(driverPrefix) || isTlsCode(codeOf(error)))

const textIn = (error: unknown, field: "errno" | "code"): string => {
  const value: unknown = error instanceof Error ? Reflect.get(error, field) : undefined
  return typeof value === "string" ? value : ""
}
