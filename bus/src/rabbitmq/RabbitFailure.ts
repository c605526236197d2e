// Describes a failure between this client and RabbitMQ: what happened and what to do. The client library reports a
// refusal of the server as a text that contains the server's code and message.

/** The reply codes of the server that this adapter handles. */
export const replyCodes = {
  accessRefused: 403,
  notFound: 404,
  resourceLocked: 405,
  preconditionFailed: 406,
  commandInvalid: 503,
  notAllowed: 530,
  notImplemented: 540,
} as const

/** `undefined` if the server did not answer, or if it gave no code. */
export const replyCodeOf = (error: unknown): number | undefined => {
  if (!(error instanceof Error)) return undefined
  if ("code" in error && typeof error.code === "number") return error.code
  const code = /\b(\d{3}) \([A-Z-]+\)/.exec(error.message)?.[1]
  return code === undefined ? undefined : Number(code)
}

/** A retry cannot help before someone changes the settings, here or at the broker. */
export const isLastingRefusal = (error: unknown): boolean => {
  const code = replyCodeOf(error)
  return (
    code === replyCodes.accessRefused ||
    code === replyCodes.preconditionFailed ||
    code === replyCodes.commandInvalid ||
    code === replyCodes.notAllowed ||
    code === replyCodes.notImplemented ||
    isVhostRefused(error) ||
    isCertificateFailure(error) ||
    isCertificateRefused(error) ||
    lacksTls(error)
  )
}

export const rabbitFailureText = (error: unknown): string => {
  const text = messageOf(error)
  if (isVhostRefused(error)) {
    return "it refuses the virtual host of the URL; create the virtual host, and permit this user to use it"
  }
  if (/ACCESS[-_]REFUSED.*[Ll]ogin/.test(text)) {
    return "it refuses the user and password that were given; correct them"
  }
  const code = codeTextOf(error)
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `its certificate is for another host (${text}); connect with a name that the certificate contains`
  }
  if (isCertificateFailure(error)) {
    return `its certificate cannot be trusted (${text}); configure the file of the authority that signed it`
  }
  if (lacksTls(error)) return "this port offers no TLS, which the settings require"
  if (isCertificateRefused(error)) return `it refuses the connection (${text})`
  return serverText(text) ?? text
}

/**
 * What else may be wrong if a connection over TLS ends without a clear reason. A server that does not accept the
 * certificate of the client sends at most a short alert, and closes the connection.
 */
export const tlsHint = (error: unknown, hasCertificate: boolean): string => {
  if (replyCodeOf(error) !== undefined || isCertificateFailure(error) || isVhostRefused(error)) return ""
  const text = `${codeTextOf(error)} ${messageOf(error)}`
  const isUnclear = /ECONNRESET|EPROTO|EPIPE|ETIMEDOUT|ended|closed|disconnected/i.test(text)
  if (!isUnclear && !isCertificateRefused(error)) return ""
  return hasCertificate
    ? " (perhaps it does not trust the configured client certificate)"
    : " (perhaps it wants a client certificate, and none is configured)"
}

/** The server's own words, without those of the client library. */
const serverText = (text: string): string | undefined => /with message "(.*)"$/s.exec(text)?.[1]

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const codeTextOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""

const isCertificateFailure = (error: unknown): boolean =>
  /CERT|VERIFY|SELF_SIGNED|UNABLE_TO/.test(codeTextOf(error)) && !isCertificateRefused(error)

/** The server sent an alert about the certificate of this client. */
const isCertificateRefused = (error: unknown): boolean =>
  /ALERT/.test(`${codeTextOf(error)} ${messageOf(error).toUpperCase()}`)

/** The server answered the greeting of TLS with something else. */
const lacksTls = (error: unknown): boolean =>
  /WRONG[ _]VERSION[ _]NUMBER/.test(`${codeTextOf(error)} ${messageOf(error).toUpperCase()}`)

/** The client library hides the server's answer at this step. The step only opens the virtual host. */
const isVhostRefused = (error: unknown): boolean =>
  /Expected ConnectionOpenOk; got <ConnectionClose/.test(messageOf(error))
