/** What concerns a whole tenant: which tenants the caller may see, and the settings of a tenant. */
import { Schema } from "effect"
import { callLimits } from "./callLimits.ts"
import { CallCursor, fromText } from "./ListCalls.ts"

const limitMessage = `must be a whole number from 1 to ${callLimits.tenantsPage}`

const limitOf = (text: string): number | undefined => {
  const limit = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= callLimits.tenantsPage ? limit : undefined
}

export const ListTenantsQuery = Schema.Struct({
  cursor: Schema.optionalKey(CallCursor),
  limit: Schema.optionalKey(
    fromText(
      limitOf,
      String,
      {
        message: limitMessage,
        description: `How many tenants to look at: 1 to ${callLimits.tenantsPage}, which is also the default.`,
        examples: ["100"],
      },
      { pattern: "^[0-9]{1,4}$" },
    ),
  ),
}).annotate({ message: "must be a query such as ?limit=100" })
export type ListTenantsQuery = typeof ListTenantsQuery.Type

export const ListTenantsAnswer = Schema.Struct({
  tenants: Schema.Array(Schema.Struct({ tenantId: Schema.String }).annotate({ identifier: "Tenant" })),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "Present if there are more tenants. Send it as cursor. A page can be short or empty.",
    }),
  ),
}).annotate({ identifier: "ListTenantsAnswer", description: "Tenants that have calls, by name." })
export type ListTenantsAnswer = typeof ListTenantsAnswer.Type

const nameMessage = `must be an HTTP header name of 1 to ${callLimits.headerNameLength} characters: letters, digits and - with no blanks`
const namesMessage = `must be an array of at most ${callLimits.hiddenHeaders} header names`

const HeaderName = Schema.String.annotate({ message: nameMessage }).check(
  Schema.isPattern(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/, { message: nameMessage }),
)

const HiddenHeaders = Schema.Array(HeaderName)
  .annotate({ message: namesMessage })
  .check(
    Schema.isMaxLength(callLimits.hiddenHeaders, {
      message: namesMessage,
      description:
        "Headers of requests and answers whose values nobody may see, in any case. Authorization, Proxy-Authorization, Cookie, Set-Cookie and X-Api-Key are always hidden.",
      examples: [["x-customer-token"]],
    }),
  )

export const PutTenantSettings = Schema.Struct({ hiddenHeaders: HiddenHeaders }).annotate({
  message: "must be a JSON object",
  identifier: "PutTenantSettings",
  description: "All settings of the tenant. They replace those that it has.",
})
export type PutTenantSettings = typeof PutTenantSettings.Type

export const TenantSettingsAnswer = Schema.Struct({
  settings: Schema.Struct({
    hiddenHeaders: Schema.Array(Schema.String).annotate({
      description: "The headers that the tenant hides, in lower case, beside those that are always hidden.",
    }),
  }).annotate({ identifier: "TenantSettings" }),
}).annotate({ identifier: "TenantSettingsAnswer" })
export type TenantSettingsAnswer = typeof TenantSettingsAnswer.Type
