// Describes a failure between this client and the broker: where it happened and what to do. The text names the servers
// by their addresses only, so that it never contains credentials.
import { protocolErrors, protocolErrorsCodesById } from "../../../drivers/kafka/kafka.ts"
import { causesOf } from "../causesOf.ts"

/** The error codes of the broker that this adapter handles. */
export const kafkaCodes = {
  offsetOutOfRange: 1,
  unknownTopic: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  requestTimedOut: 7,
  messageTooLarge: 10,
  offsetMetadataTooLarge: 12,
  coordinatorLoading: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  recordListTooLarge: 18,
  illegalGeneration: 22,
  inconsistentProtocol: 23,
  unknownMember: 25,
  rebalanceInProgress: 27,
  topicForbidden: 29,
  groupForbidden: 30,
  clusterForbidden: 31,
  mechanismNotOffered: 33,
  noSaslExpected: 34,
  unsupportedVersion: 35,
  topicExists: 36,
  invalidPartitions: 37,
  invalidReplicas: 38,
  policyViolation: 44,
  outOfOrderSequence: 45,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  authenticationFailed: 58,
  unknownProducer: 59,
  memberIdRequired: 79,
} as const

/** The broker answered with an error code. */
export class KafkaRefusal extends Error {
  readonly kafkaCode: number

  constructor(kafkaCode: number, detail?: string | null) {
    const id = protocolErrorsCodesById[kafkaCode] ?? `error ${kafkaCode}`
    super(detail ? `${id}: ${detail}` : `${id}: ${protocolErrors[id]?.message ?? "no explanation"}`)
    this.kafkaCode = kafkaCode
  }
}

export const kafkaCodeOf = (error: unknown): number | undefined => {
  for (const cause of causesOf(error)) {
    if (cause instanceof KafkaRefusal) return cause.kafkaCode
    const code = apiCodeOf(cause)
    if (code !== undefined) return code
  }
  return undefined
}

/** Throws if the code is an error. */
export const refuseCode = (kafkaCode: number, detail?: string | null): void => {
  if (kafkaCode !== 0) throw new KafkaRefusal(kafkaCode, detail)
}

const lastingCodes: ReadonlySet<number> = new Set([
  kafkaCodes.topicForbidden,
  kafkaCodes.groupForbidden,
  kafkaCodes.clusterForbidden,
  kafkaCodes.mechanismNotOffered,
  kafkaCodes.noSaslExpected,
  kafkaCodes.unsupportedVersion,
  kafkaCodes.invalidPartitions,
  kafkaCodes.invalidReplicas,
  kafkaCodes.policyViolation,
  kafkaCodes.authenticationFailed,
  kafkaCodes.inconsistentProtocol,
])

/** A retry cannot help before someone changes the settings, here or at the broker. */
export const isLastingFailure = (error: unknown): boolean => {
  const code = kafkaCodeOf(error)
  return (code !== undefined && lastingCodes.has(code)) || causesOf(error).some(isCertificateFailure)
}

export const kafkaFailureText = (error: unknown): string => {
  const chain = causesOf(error)
  const code = kafkaCodeOf(error)
  if (code === kafkaCodes.authenticationFailed) return "it refuses the user and password; correct them"
  if (code === kafkaCodes.mechanismNotOffered) {
    return "it does not offer this SASL mechanism; add ?sasl=plain, ?sasl=scram-sha-256 or ?sasl=scram-sha-512 to the URL"
  }
  if (code === kafkaCodes.noSaslExpected) {
    return "it does not offer SASL on this port; remove user and password from the URL, or name the port for SASL"
  }
  if (code === kafkaCodes.unsupportedVersion) return "it is too old; use Kafka 2.8 or newer"
  const otherHost = chain.find((cause) => codeText(cause) === "ERR_TLS_CERT_ALTNAME_INVALID")
  if (otherHost !== undefined) {
    return `its certificate is for another host (${otherHost.message}); connect with a name that the certificate contains`
  }
  const distrusted = chain.find(isCertificateFailure)
  if (distrusted !== undefined) {
    return `its certificate cannot be trusted (${distrusted.message}); configure the file of the authority that signed it`
  }
  if (chain.some(({ message }) => /TLS handshake failed/.test(message))) {
    return "it offers no encryption (TLS), which the settings require, or it wants a client certificate"
  }
  if (chain.some((cause) => codeText(cause) === "PLT_KFK_TIMEOUT")) return "it did not answer in time"
  return chain.at(-1)?.message ?? "the connection ended"
}

const isCertificateFailure = (error: Error): boolean =>
  /CERT|VERIFY|SELF_SIGNED/.test(codeText(error) ?? "") && codeText(error) !== "PLT_KFK_NETWORK"

const codeText = (error: Error): string | undefined =>
  "code" in error && typeof error.code === "string" ? error.code : undefined

/** The client library keeps the code of the broker in this field. */
const apiCodeOf = (error: Error): number | undefined =>
  "apiCode" in error && typeof error.apiCode === "number" ? error.apiCode : undefined
