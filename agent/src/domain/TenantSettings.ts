// What a tenant has set for its own calls.

export interface TenantSettings {
  /** The names of headers whose values nobody may see, in lower case, beside those that are always hidden. */
  readonly hiddenHeaders: ReadonlyArray<string>
}

/** A tenant that has set nothing. */
export const defaultTenantSettings: TenantSettings = { hiddenHeaders: [] }
