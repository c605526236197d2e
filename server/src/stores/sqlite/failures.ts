// What SQLite's errors mean to the store. After some of them nothing may be acknowledged any more. If the fsync of a
// commit failed, the content of the disk is unknown, so the process ends and a restart recovers.
import { MergeContradiction } from "./level0/Merge.ts"
import { DamagedJournal } from "./level0/Move.ts"

const fatalCodes = [
  "SQLITE_IOERR",
  "SQLITE_FULL",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
  "SQLITE_READONLY",
  "SQLITE_CANTOPEN",
]

/** Errors of one item's data, which do not concern its neighbours. */
const itemCodes = ["SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_TOOBIG", "SQLITE_RANGE"]

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

export const isFatal = (error: unknown): boolean =>
  isContradiction(error) || fatalCodes.some((code) => codeOf(error).startsWith(code))

/** The journal or the orders of timers are not what this program has written. */
const isContradiction = (error: unknown): boolean =>
  error instanceof DamagedJournal || error instanceof MergeContradiction

/**
 * The file was changed by something other than SQLite. An unknown format number is reported without a code of its own.
 */
export const isDamage = (error: unknown): boolean =>
  isContradiction(error) ||
  /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error)) ||
  (error instanceof Error && error.message === "unsupported file format")

export const isOfItem = (error: unknown): boolean =>
  error instanceof TypeError || itemCodes.some((code) => codeOf(error).startsWith(code))

export const describe = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const code = codeOf(error)
  return code === "" || message.includes(code) ? message : `${message} (${code})`
}

/** Another program holds the file's lock. */
export const isTemporary = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))

/** The text of a temporary error, for the log. Another program holds the lock: the service has one writer. */
export const refusal = (error: unknown, path: string): string =>
  isTemporary(error)
    ? `${path} is locked by another program, which must release it (${describe(error)})`
    : describe(error)

/** What to do about a damaged store. The command keeps the damaged file beside the restored one. */
export const restoreAdvice = (path: string): string =>
  `restore it from a backup with "punctual restore <backup> --force --store sqlite:${path}", which keeps the damaged file`

/** Explains a fatal error to the operator: what failed, and what to do. */
export const explain = (error: unknown, path: string): string => {
  if (isDamage(error)) return `${path} is damaged (${describe(error)}): ${restoreAdvice(path)}`
  const code = codeOf(error)
  const known = remedies.find(([prefix]) => code.startsWith(prefix))
  return known === undefined ? describe(error) : `${path}: ${known[1]} (${describe(error)}). ${known[2]}`
}

const remedies: ReadonlyArray<readonly [code: string, what: string, remedy: string]> = [
  [
    "SQLITE_FULL",
    "there is no room left",
    "Free some space, and start again: all acknowledged data is there",
  ],
  [
    "SQLITE_READONLY",
    "it can no longer be written",
    "Fix that, and start again: all acknowledged data is there",
  ],
  [
    "SQLITE_IOERR",
    "its disk failed to read or to write",
    "Check the disk, and start again: acknowledged data is recovered; the result of the other writes is unknown",
  ],
]
