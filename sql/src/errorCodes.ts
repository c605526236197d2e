// Reads errors of the PostgreSQL driver. Errors of the server have a SQLSTATE. Errors of the connection have a code of
// the driver or of TLS.

/** The prefix of the driver's own error codes. Most of them mean a lost connection. */
export const driverPrefix = "ERR_POSTGRES_"

/** The SQLSTATE, or an empty text. */
export const stateOf = (error: unknown): string => textIn(error, "errno")

export const driverCodeOf = (error: unknown): string => textIn(error, "code")

/** The driver's code for an unreachable server. A host name that cannot be resolved has the same code. */
const notConnected = `${driverPrefix}CONNECTION_REFUSED`

export const describeError = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const code = stateOf(error) || driverCodeOf(error)
  if (code === notConnected) return message
  return code === "" || message.includes(code) ? message : `${message} (${code})`
}

const textIn = (error: unknown, field: "errno" | "code"): string => {
  const value: unknown = error instanceof Error ? Reflect.get(error, field) : undefined
  return typeof value === "string" ? value : ""
}
