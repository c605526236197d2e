// Statements for servers that speak MySQL's protocol, as text with the values in it. Several statements go in one packet,
// so that a transaction needs one round trip. This works on all these servers, while stored functions and prepared
// statements with many rows do not.

/** A session of an adapter. The caller names the form of the rows that its statements select. */
export interface MysqlSession {
  /** Runs the statements in one round trip. Returns the rows of each, in order. */
  run<Row>(statements: ReadonlyArray<string>): Promise<ReadonlyArray<ReadonlyArray<Row>>>
  /** The same in one transaction. If a statement fails, nothing was done. */
  transaction<Row>(statements: ReadonlyArray<string>): Promise<ReadonlyArray<ReadonlyArray<Row>>>
}

export type SqlValue = string | number | boolean | null | undefined | Uint8Array

/**
 * The value as text of a statement. The sessions set a character set and an sql_mode in which a backslash escapes the
 * next character, and nothing else is special in quotes.
 */
export const literal = (value: SqlValue): string => {
  switch (typeof value) {
    case "string":
      return `'${value.replace(/[\\'\0]/g, (special) => (special === "\0" ? "\\0" : `\\${special}`))}'`
    case "number":
      if (!Number.isFinite(value)) throw new Error(`${value} is not a number that SQL knows`)
      return String(value)
    case "boolean":
      return value ? "1" : "0"
    default:
      return value === null || value === undefined ? "NULL" : bytesLiteral(value)
  }
}

export const literals = (values: ReadonlyArray<SqlValue>): string => values.map(literal).join(", ")

const bytesLiteral = (bytes: Uint8Array): string =>
  `x'${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}'`
