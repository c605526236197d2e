/** The calls of the agent's API that the pages use, and what they answer. Instants are ISO texts. */
import type { ChangeManyCallsAnswer, ListCallsAnswer } from "@punctual/api/agent/ListCalls"
import type {
  ServiceCallAnswer,
  ServiceCallDetailAnswer,
  SubmittedCallAnswer,
} from "@punctual/api/agent/ServiceCallView"
import type { ListTenantsAnswer, TenantSettingsAnswer } from "@punctual/api/agent/TenantCalls"
import { askForText } from "../kit/serviceCall.ts"

export type CallPage = typeof ListCallsAnswer.Encoded
export type Call = CallPage["calls"][number]
export type CallStatus = Call["status"]
export type CallCounts = NonNullable<CallPage["counts"]>
export type CallDetail = typeof ServiceCallDetailAnswer.Encoded
export type Submitted = typeof SubmittedCallAnswer.Encoded
export type Changed = typeof ServiceCallAnswer.Encoded
export type ManyChanged = typeof ChangeManyCallsAnswer.Encoded

export type TenantSettings = (typeof TenantSettingsAnswer.Encoded)["settings"]

export const statuses: ReadonlyArray<CallStatus> = [
  "Submitted",
  "Scheduled",
  "Running",
  "Succeeded",
  "Failed",
  "Cancelled",
]

/** The path of a tenant's calls, below the API. */
export const callsPath = (tenant: string): string => `tenants/${encodeURIComponent(tenant)}/service-calls`

export const callPath = (tenant: string, id: string): string =>
  `${callsPath(tenant)}/${encodeURIComponent(id)}`

export const listCalls = async (
  tenant: string,
  query: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<CallPage> => {
  const text = new URLSearchParams(query).toString()
  const path = `${callsPath(tenant)}${text === "" ? "" : `?${text}`}`
  return JSON.parse(await askForText(path, { method: "GET", signal }))
}

export const getCall = async (tenant: string, id: string, signal?: AbortSignal): Promise<CallDetail> =>
  JSON.parse(await askForText(callPath(tenant, id), { method: "GET", signal }))

/** `body` as text keeps all digits of its numbers. */
export const submitCall = async (tenant: string, body: string): Promise<Submitted> =>
  JSON.parse(await askForText(callsPath(tenant), { method: "POST", body }))

/** Changes the name, the tags or the star. */
export const annotateCall = async (tenant: string, id: string, changes: object): Promise<Call> => {
  const text = await askForText(callPath(tenant, id), { method: "PATCH", body: changes })
  const { call }: Changed = JSON.parse(text)
  return call
}

/** `act`: `cancel` or `reschedule`. */
export const actOnCall = async (
  tenant: string,
  id: string,
  act: "cancel" | "reschedule",
  body: object = {},
): Promise<Call> => {
  const text = await askForText(`${callPath(tenant, id)}/${act}`, { method: "POST", body })
  const { call }: Changed = JSON.parse(text)
  return call
}

export const runCallAgain = async (tenant: string, id: string): Promise<Call> => {
  const text = await askForText(`${callPath(tenant, id)}/run-again`, { method: "POST", body: {} })
  const { call }: Submitted = JSON.parse(text)
  return call
}

export const changeManyCalls = async (
  tenant: string,
  body: object,
  signal: AbortSignal,
): Promise<ManyChanged> =>
  JSON.parse(await askForText(`${callsPath(tenant)}/bulk`, { method: "POST", body, signal }))

const tenantsMax = 200

/** The first tenants that have calls and that the reader may see. */
export const listTenants = async (signal?: AbortSignal): Promise<ReadonlyArray<string>> => {
  const text = await askForText(`tenants?limit=${tenantsMax}`, { method: "GET", signal })
  const { tenants }: typeof ListTenantsAnswer.Encoded = JSON.parse(text)
  return tenants.map(({ tenantId }) => tenantId)
}

const settingsPath = (tenant: string): string => `tenants/${encodeURIComponent(tenant)}/settings`

export const getSettings = async (tenant: string, signal?: AbortSignal): Promise<TenantSettings> => {
  const text = await askForText(settingsPath(tenant), { method: "GET", signal })
  const { settings }: typeof TenantSettingsAnswer.Encoded = JSON.parse(text)
  return settings
}

export const putSettings = async (tenant: string, settings: TenantSettings): Promise<void> => {
  await askForText(settingsPath(tenant), { method: "PUT", body: settings })
}
