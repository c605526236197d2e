// What can go wrong with a call of DynamoDB, and what it means for the caller: whether nothing was done, whether the same
// call may be sent again, and which sentence an operator should read.
import { type DynamoItem, plainItem, type TaggedItem } from "./DynamoItem.ts"

/** Why one item of a transaction failed. `None` if it did not. */
export interface CancellationReason {
  readonly code: string
  /** The item as it is stored, if the request asked for it. */
  readonly item: DynamoItem | undefined
}

export class DynamoFailure extends Error {
  /** The name of the error, without its package; `unreachable` if there was no answer. */
  readonly code: string
  readonly reasons: ReadonlyArray<CancellationReason>
  /** The item that a condition was compared with, if the request asked for it. */
  readonly item: DynamoItem | undefined

  constructor(code: string, message: string, details: { reasons?: unknown; item?: unknown } = {}) {
    super(message)
    this.code = code
    this.reasons = Array.isArray(details.reasons) ? details.reasons.map(reasonOf) : []
    this.item = isFields(details.item) ? plainItem(details.item as TaggedItem) : undefined
  }

  get isConditional(): boolean {
    return this.code === "ConditionalCheckFailedException" || this.#has("ConditionalCheckFailed")
  }

  /** Nothing was done because of load or of another call on the same items. The same call may be sent again. */
  get isMomentary(): boolean {
    if (momentary.has(this.code)) return true
    return (
      this.code === cancelled && !this.isConditional && this.reasons.some(({ code }) => inPassing.has(code))
    )
  }

  /** The call may or may not have been done. */
  get isUnknown(): boolean {
    return unknown.has(this.code)
  }

  #has(reason: string): boolean {
    return this.code === cancelled && this.reasons.some(({ code }) => code === reason)
  }
}

const cancelled = "TransactionCanceledException"

const momentary: ReadonlySet<string> = new Set([
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "RequestLimitExceeded",
  "TransactionConflictException",
  "TransactionInProgressException",
  "LimitExceededException",
])

const inPassing: ReadonlySet<string> = new Set([
  "TransactionConflict",
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
])

const unknown: ReadonlySet<string> = new Set([
  "unreachable",
  "InternalServerError",
  "InternalFailure",
  "ServiceUnavailable",
  "ServiceUnavailableException",
])

/** The failure that an answer reports. */
export const failureOf = (status: number, text: string): DynamoFailure => {
  const json = fieldsOf(text)
  const name = textIn(json, "__type")
  const code = name.slice(name.lastIndexOf("#") + 1) || (status >= 500 ? "InternalServerError" : "unreadable")
  const message = textIn(json, "message") || textIn(json, "Message")
  return new DynamoFailure(code, `${message || `status ${status}`} (${code})`, {
    reasons: json["CancellationReasons"],
    item: json["Item"],
  })
}

const reasonOf = (reason: unknown): CancellationReason => {
  const fields = isFields(reason) ? reason : {}
  const item = fields["Item"]
  return { code: textIn(fields, "Code"), item: isFields(item) ? plainItem(item as TaggedItem) : undefined }
}

const fieldsOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const json: unknown = JSON.parse(text)
    return isFields(json) ? json : {}
  } catch {
    return {}
  }
}

const textIn = (json: Readonly<Record<string, unknown>>, name: string): string => {
  const value = json[name]
  return typeof value === "string" ? value : ""
}

const isFields = (json: unknown): json is Readonly<Record<string, unknown>> =>
  typeof json === "object" && json !== null && !Array.isArray(json)
