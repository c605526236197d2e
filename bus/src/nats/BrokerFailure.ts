// Describes a failure between this client and the broker: where it happened and what to do. The text names the server
// by its address only, so that it never contains credentials.
import { errors, JetStreamApiError } from "../../../drivers/nats/nats.ts"
import { causesOf } from "../causesOf.ts"

/** The error codes of the broker that this adapter handles. */
export const apiCodes = {
  consumerNotFound: 10014,
  noMessageFound: 10037,
  jetStreamNotEnabledForAccount: 10039,
  messageTooLarge: 10054,
  messageDeleteFailed: 10057,
  streamNameInUse: 10058,
  streamNotFound: 10059,
  subjectsOverlap: 10065,
  jetStreamNotEnabled: 10076,
} as const

export const apiCodeOf = (error: unknown): number | undefined =>
  error instanceof JetStreamApiError ? error.code : undefined

/** A retry cannot help, because the broker refuses these credentials. */
const isAuthorizationFailure = (error: unknown): boolean =>
  causesOf(error).some((cause) => cause instanceof errors.AuthorizationError)

/** A retry cannot help before someone changes the settings, here or at the broker. */
export const isLasting = (error: unknown): boolean => {
  const chain = causesOf(error)
  const [first] = chain
  return (
    isAuthorizationFailure(error) ||
    isWithoutJetStream(error, chain) ||
    (first !== undefined && (isCertificateFailure(first) || lacksTls(first)))
  )
}

export const failureText = (error: unknown): string => {
  const chain = causesOf(error)
  const violation = chain.find((cause) => cause instanceof errors.PermissionViolationError)
  if (violation !== undefined) {
    return `this user lacks the permission to ${violation.operation === "publish" ? "publish to" : "subscribe to"} ${violation.subject}; grant it`
  }
  if (isAuthorizationFailure(error)) {
    return "it refuses the user and password, or the token, that were given; correct them"
  }
  if (isWithoutJetStream(error, chain)) {
    return "JetStream is not enabled there; start the server with it (-js), or allow this account to use it"
  }
  if (chain.some((cause) => cause instanceof errors.TimeoutError)) return "it did not answer in time"
  const [first] = chain
  if (first === undefined) return "the connection ended"
  const tlsCode = codeOf(first)
  if (tlsCode === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `its certificate is for another host (${first.message}); connect with a name that the certificate contains`
  }
  if (isCertificateFailure(first)) {
    return `its certificate cannot be trusted (${first.message}); configure the file of the authority that signed it`
  }
  if (lacksTls(first)) {
    return "it offers no encryption (TLS), which the settings require"
  }
  return first.message
}

/**
 * What else may be wrong if a connection over TLS ends without a reason. A broker checks the certificate of a client
 * after the handshake. If it refuses the certificate, it closes the connection, and the client library only reports that
 * no answer came.
 */
export const clientCertificateHint = (error: unknown, hasCertificate: boolean): string => {
  const chain = causesOf(error)
  const isSilent = chain.length === 0 || chain.some((cause) => cause instanceof errors.TimeoutError)
  if (!isSilent && !/ECONNRESET|EPROTO|EPIPE/.test(chain.map(codeOf).join())) return ""
  return hasCertificate
    ? " (perhaps it does not trust the configured client certificate)"
    : " (perhaps it wants a client certificate, and none is configured)"
}

const isCertificateFailure = (error: Error): boolean => /CERT|VERIFY|SSL|TLS/.test(codeOf(error) ?? "")

const lacksTls = (error: Error): boolean => /does not support 'tls'/.test(error.message)

const isWithoutJetStream = (error: unknown, chain: ReadonlyArray<Error>): boolean => {
  const code = apiCodeOf(error)
  return (
    code === apiCodes.jetStreamNotEnabled ||
    code === apiCodes.jetStreamNotEnabledForAccount ||
    chain.some((cause) => cause.name === "JetStreamNotEnabled" || cause instanceof errors.NoRespondersError)
  )
}

const codeOf = (error: Error): string | undefined =>
  "code" in error && typeof error.code === "string" ? error.code : undefined
