/** Which tenant the pages show. The address names it. The browser remembers the tenants that the reader has opened. */
import { useQuery } from "@tanstack/react-query"
import { useEffect } from "react"
import { changeParameters } from "../kit/places.ts"
import { Setting } from "../kit/Setting.ts"
import { useMay, useSelf } from "../kit/self.ts"
import { listTenants } from "./agentApi.ts"
import { useAgentPlace } from "./agentPlaces.ts"

/** The rule of the contract. */
export const isTenant = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z0-9-][A-Za-z0-9_-]{0,99}$/.test(value)

const rememberedMax = 8

const isTenants = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.length <= rememberedMax && value.every((name) => isTenant(name))

export const tenantsSetting = new Setting<ReadonlyArray<string>>("agent.tenants", [], isTenants)

/** Tenants that the reader's key names, without patterns. */
export const useTenantsOfKey = (): ReadonlyArray<string> =>
  (useSelf()?.namespaces ?? []).filter((rule) => isTenant(rule))

/** Tenants that have calls. Undefined until they are known. The reader can type any other name. */
export const useTenants = (): ReadonlyArray<string> | undefined =>
  useQuery({
    queryKey: ["tenants"],
    queryFn: ({ signal }) => listTenants(signal),
    enabled: useMay()("calls.read"),
    staleTime: 10_000,
  }).data

/** The tenant of the page. Undefined until the reader has chosen one. */
export const useTenant = (): string | undefined => {
  const { parameters } = useAgentPlace()
  const given = parameters.get("tenant")
  const isKnown = useSelf() !== undefined
  const [ofKey] = useTenantsOfKey()
  const [only, ...others] = useTenants() ?? []
  const usual = tenantsSetting.value[0] ?? ofKey ?? (others.length === 0 ? only : undefined)
  const tenant = isTenant(given) ? given : undefined
  useEffect(() => {
    // An address without a tenant, such as that of the first visit, gets the usual one.
    if (tenant === undefined && isKnown && usual !== undefined) {
      changeParameters({ tenant: usual }, { replace: true })
    }
  }, [tenant, isKnown, usual])
  useEffect(() => {
    const known = tenantsSetting.value
    if (tenant === undefined || known[0] === tenant) return
    tenantsSetting.set([tenant, ...known.filter((name) => name !== tenant)].slice(0, rememberedMax))
  }, [tenant])
  return tenant
}
