// What a tenant has set for its own calls, and ranges of the names of tenants.

export interface TenantSettings {
  /** The names of headers whose values nobody may see, in lower case, beside those that are always hidden. */
  readonly hiddenHeaders: ReadonlyArray<string>
}

/** A tenant that has set nothing. */
export const defaultTenantSettings: TenantSettings = { hiddenHeaders: [] }

/** Names from the first one up to, and without, the second one, compared bytewise. */
export interface TenantRange {
  readonly inclusiveFrom: string
  readonly exclusiveUntil: string
}
