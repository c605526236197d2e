// The settings of a tenant as a row: their JSON text. This module does not use Effect.
import { defaultTenantSettings, type TenantSettings } from "../domain/TenantSettings.ts"

export const settingsTextOf = ({ hiddenHeaders }: TenantSettings): string => JSON.stringify({ hiddenHeaders })

/** Null and `undefined`: the tenant has set nothing. */
export const settingsOfText = (text: string | null | undefined): TenantSettings =>
  text == null ? defaultTenantSettings : { ...defaultTenantSettings, ...JSON.parse(text) }

/**
 * The tenants that have calls, in order. Each step of the recursion jumps to the next tenant in the index, so the time
 * depends on the number of tenants and not on that of their calls.
 */
export const tenantsQuery = (
  from: string,
  until: string,
  limit: string,
): string => `WITH RECURSIVE tenants(id) AS (
    SELECT min(tenant_id) FROM calls WHERE tenant_id >= ${from} AND tenant_id < ${until}
    UNION ALL
    SELECT (SELECT min(tenant_id) FROM calls WHERE tenant_id > tenants.id AND tenant_id < ${until})
    FROM tenants WHERE tenants.id IS NOT NULL)
  SELECT id FROM tenants WHERE id IS NOT NULL LIMIT ${limit}`

/** Counts the open calls of a tenant, up to a limit. */
export const openCountQuery = (tenant: string, limit: string): string => `SELECT count(*) AS open FROM (
    SELECT 1 FROM calls WHERE tenant_id = ${tenant} AND state IN ('Submitted', 'Scheduled', 'Running')
    LIMIT ${limit}) AS counted`
