// Why the store cannot be opened or used, in sentences that say what to do. They contain no key.
import { DynamoFailure } from "./DynamoFailure.ts"

export class TablesRefused extends Error {}

const rights =
  "dynamodb:GetItem, PutItem, UpdateItem, DeleteItem, BatchGetItem, BatchWriteItem, Query, Scan, ConditionCheckItem, DescribeTable and DescribeTimeToLive"

const advice: Readonly<Record<string, string>> = {
  UnrecognizedClientException: "AWS does not know the access key: check the credentials and the region.",
  InvalidSignatureException:
    "The secret key or the region does not belong to the access key: check the credentials, the region in the URL and the clock of this machine.",
  IncompleteSignatureException: "The access key is not valid: check the credentials.",
  MissingAuthenticationTokenException: "The access key is not valid: check the credentials.",
  ExpiredTokenException: "The session of the credentials has expired: renew them.",
  AccessDeniedException: `The credentials lack a right on the tables. A service needs ${rights}; to create the tables, also dynamodb:CreateTable and UpdateTimeToLive.`,
  ResourceNotFoundException: "A table of the store is missing: check the region and the prefix in the URL.",
  ItemCollectionSizeLimitExceededException:
    "The pending timers of a shard have reached DynamoDB's limit of 10 GB.",
  untrusted:
    "Set NODE_EXTRA_CA_CERTS to the file of its certificate authority, and name a host that the certificate has.",
  unreachable: "Check the region and the endpoint in the URL, and the network.",
}

export const describeFailure = (error: unknown): string => {
  if (!(error instanceof DynamoFailure)) return error instanceof Error ? error.message : String(error)
  const help = advice[error.code]
  return help === undefined ? error.message : `${error.message} ${help}`
}

/** The store cannot be used any more, because its tables are gone. Nothing may be acknowledged after it. */
export const isFatalFailure = (error: unknown): boolean =>
  error instanceof DynamoFailure && error.code === "ResourceNotFoundException"
