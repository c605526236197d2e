// Decides what to do with a message from its content alone. The type is checked first: messages for other groups share
// the topic, and must not become undeliverable here.

import { Namespace } from "@punctual/api/Namespace"
import { Result, Schema } from "effect"
import { type Envelope, envelopeOf, parseJson } from "./Envelope.ts"
import type { Incoming } from "./Incoming.ts"
import { unknownTenant } from "./Undeliverable.ts"

interface OtherType {
  readonly kind: "otherType"
  readonly tenant: string
  readonly type: string
}

interface Unfit {
  readonly kind: "unfit"
  readonly tenant: string
  readonly reason: "malformed" | "refused"
  readonly error: string
}

interface Fit {
  readonly kind: "fit"
  readonly tenant: string
  readonly envelope: Envelope
}

export type Judgement = OtherType | Unfit | Fit

export const judge = (
  { bytes, addressedTenant }: Pick<Incoming, "bytes" | "addressedTenant">,
  types: ReadonlySet<string>,
): Judgement => {
  const parsed = parseJson(bytes)
  const fields = Result.isSuccess(parsed) ? fieldsOf(parsed.success) : undefined
  const tenant = tenantOf(addressedTenant, fields?.["tenantId"])
  const unfit = (reason: Unfit["reason"], error: string): Unfit => ({ kind: "unfit", tenant, reason, error })
  if (Result.isFailure(parsed)) return unfit("malformed", parsed.failure)
  if (fields === undefined) return unfit("malformed", "the message must be a JSON object")
  const { type } = fields
  if (typeof type !== "string") return unfit("malformed", "/type must be text")
  if (!types.has(type)) return { kind: "otherType", tenant, type }
  const decoded = envelopeOf(fields)
  if (Result.isFailure(decoded)) return unfit("malformed", decoded.failure)
  const envelope = decoded.success
  if (addressedTenant !== undefined && addressedTenant !== envelope.tenantId) {
    const { tenantId } = envelope
    return unfit(
      "refused",
      `the envelope names tenant ${tenantId}, but was sent to tenant ${addressedTenant}`,
    )
  }
  return { kind: "fit", tenant, envelope }
}

interface Fields {
  readonly type?: unknown
  readonly tenantId?: unknown
}

const fieldsOf = (json: unknown): Fields | undefined =>
  typeof json === "object" && json !== null && !Array.isArray(json) ? json : undefined

/**
 * The address, if there is one, decides the tenant. The content of a message must not put it among another tenant's
 * undeliverable messages. A name that is not a valid namespace belongs to no tenant.
 */
const tenantOf = (addressedTenant: string | undefined, tenantId: unknown): string => {
  const tenant = addressedTenant ?? tenantId
  return isNamespace(tenant) ? tenant : unknownTenant
}

const isNamespace = Schema.is(Namespace)
