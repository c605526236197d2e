// What SQLite's errors mean to the store. After some of them nothing may be acknowledged any more: of
// a commit whose fsync failed nobody knows what is on the disk, so the process ends and a restart
// recovers.

const fatalCodes = [
  "SQLITE_IOERR",
  "SQLITE_FULL",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
  "SQLITE_READONLY",
  "SQLITE_CANTOPEN",
]

/** Faults of one item's data, which its neighbours need not share. */
const itemCodes = ["SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_TOOBIG", "SQLITE_RANGE"]

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

export const isFatal = (error: unknown): boolean => fatalCodes.some((code) => codeOf(error).startsWith(code))

export const isOfItem = (error: unknown): boolean =>
  error instanceof TypeError || itemCodes.some((code) => codeOf(error).startsWith(code))

export const describe = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const code = codeOf(error)
  return code === "" || message.includes(code) ? message : `${message} (${code})`
}
