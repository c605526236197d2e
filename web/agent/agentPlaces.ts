/** The pages of the Service Agent and their addresses. Every address names the tenant. */
import { addressOf, type Parameters, usePlaceAmong } from "../kit/places.ts"
import { type AgentPageName, agentPageNames } from "./agentPageNames.ts"

export const useAgentPlace = () => usePlaceAmong(agentPageNames, "calls")

/** A relative address. Parameters that are undefined or empty are left out. */
export const agentHref = (page: AgentPageName, tenant: string, parameters: Parameters = {}): string =>
  addressOf(page, { tenant, ...parameters })

export const callHref = ({
  tenantId,
  serviceCallId,
}: {
  readonly tenantId: string
  readonly serviceCallId: string
}): string => agentHref("call", tenantId, { id: serviceCallId })
