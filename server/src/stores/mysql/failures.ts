// What the errors of MySQL, MariaDB and TiDB mean to the store. The process ends only if the data cannot be trusted:
// corruption, or a missing schema.
import { isTlsCode } from "@punctual/sql/databaseTls"
import { TimedOut } from "../SessionPool.ts"

/** The prefix of the driver's own error codes. */
const driverPrefix = "ERR_MYSQL_"

/** Missing tables and columns, and damaged ones. */
const fatalNumbers = [1054, 1146, 126, 127, 145, 1034, 1194, 1712, 1713, 1932]

/**
 * Deadlock, the wait for a lock, and their relatives in TiDB and MariaDB: the server has done nothing, or the caller has
 * rolled it back.
 */
const undoneNumbers = [1205, 1213, 1020, 3572, 8002, 8022, 9007]

/** The connection is unusable: the server is stopping, has become read-only, or has ended the session. */
const brokenNumbers = [1053, 1077, 1079, 1290, 1792, 1836, 1927, 3169, 4031, 8052]

/** Too many connections, time limits, and TiDB's storage being unavailable. */
const transientNumbers = [1040, 1203, 1226, 1317, 1969, 3024, 8027, 8028, 9001, 9002, 9003, 9004, 9005, 9010]

/** A change found something else than it expected: a key that is in use, or a check that failed. */
const unmetNumbers = [1062, 1242]

/** The server's number of the error, or 0. */
export const numberOf = (error: unknown): number => {
  const value: unknown = error instanceof Error ? Reflect.get(error, "errno") : undefined
  return typeof value === "number" ? value : 0
}

export const mysqlCodeOf = (error: unknown): string => {
  const value: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined
  return typeof value === "string" ? value : ""
}

export const describeMysqlError = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const number = numberOf(error)
  return number === 0 ? message : `${message} (${number})`
}

const isAmong = (numbers: ReadonlyArray<number>) => (error: unknown) => numbers.includes(numberOf(error))

export const isFatal = isAmong(fatalNumbers)
export const isUndone = isAmong(undoneNumbers)
export const isUnmet = isAmong(unmetNumbers)

const isOfDriver = (error: unknown): boolean => {
  const code = mysqlCodeOf(error)
  return numberOf(error) === 0 && (code.startsWith(driverPrefix) || isTlsCode(code))
}

export const isBroken = (error: unknown): boolean => isOfDriver(error) || isAmong(brokenNumbers)(error)

export const isTransient = (error: unknown): boolean =>
  error instanceof TimedOut || isBroken(error) || isUndone(error) || isAmong(transientNumbers)(error)
