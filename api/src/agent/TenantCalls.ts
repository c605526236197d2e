/** What concerns a whole tenant: which tenants the caller may see, and the settings of a tenant. */
import { Schema } from "effect"
import { callLimits } from "./callLimits.ts"
import { CallCursor, pageLimit } from "./ListCalls.ts"

export const ListTenantsQuery = Schema.Struct({
  cursor: Schema.optionalKey(CallCursor),
  limit: Schema.optionalKey(
    pageLimit(
      callLimits.tenantsPage,
      "^([1-9][0-9]{0,2}|1000)$",
      `The size of a page: 1 to ${callLimits.tenantsPage}, which is also the default.`,
    ),
  ),
}).annotate({ message: "must be a query such as ?limit=100" })
export type ListTenantsQuery = typeof ListTenantsQuery.Type

export const ListTenantsAnswer = Schema.Struct({
  tenants: Schema.Array(Schema.Struct({ tenantId: Schema.String }).annotate({ identifier: "Tenant" })),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "Present if there are more tenants. Send it as cursor.",
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
