// How many deliveries may run at once. The runtime limits the requests that it makes at once. Deliveries beyond this limit
// would wait inside the runtime while their timeouts run.
import { settings } from "./Settings.ts"

export interface DeliverySlots {
  readonly normal: number
  /** Additional slots for hosts that do not answer. */
  readonly slow: number
}

interface SlotSettings {
  readonly maxInFlight: number
  /** The slow slots as a percentage of the normal ones. 0: there are no slow slots. */
  readonly slowSharePercent: number
}

type Environment = Readonly<Record<string, string | undefined>>

const runtimeRequestsName = "BUN_CONFIG_MAX_HTTP_REQUESTS"
const runtimeRequestsDefault = 256

/** How many requests the runtime makes at once. It reads its limit when it starts, so a line in the file is too late. */
const requestsAtOnce = (environment: Environment): number => {
  const text = environment[runtimeRequestsName] ?? ""
  return /^[1-9]\d{0,4}$/.test(text) ? Number(text) : runtimeRequestsDefault
}

const slowSlotsOf = (normal: number, slowSharePercent: number): number =>
  Math.ceil((normal * slowSharePercent) / 100)

export const beyondRuntime = (
  { maxInFlight, slowSharePercent }: SlotSettings,
  environment: Environment,
): ReadonlyArray<string> => {
  const atOnce = requestsAtOnce(environment)
  const wanted = maxInFlight + slowSlotsOf(maxInFlight, slowSharePercent)
  return maxInFlight > atOnce
    ? [
        `${settings.maxInFlight.name} is ${maxInFlight}, but the runtime makes at most ${atOnce} requests at once: also set ${runtimeRequestsName}=${wanted} in the environment (not in the file), or use a smaller value.`,
      ]
    : []
}

/**
 * If the runtime cannot make as many requests as the settings ask for, there are fewer normal slots. The share of the slow
 * slots stays the same, because they protect tenants from each other.
 */
export const deliverySlotsOf = (
  { maxInFlight, slowSharePercent }: SlotSettings,
  environment: Environment,
): { readonly slots: DeliverySlots; readonly warnings: ReadonlyArray<string> } => {
  const atOnce = requestsAtOnce(environment)
  const slow = slowSlotsOf(maxInFlight, slowSharePercent)
  const wanted = maxInFlight + slow
  if (wanted <= atOnce) return { slots: { normal: maxInFlight, slow }, warnings: [] }
  const normal = Math.max(1, Math.floor((atOnce * 100) / (100 + slowSharePercent)))
  const slots = { normal, slow: Math.min(slowSlotsOf(normal, slowSharePercent), atOnce - normal) }
  const warning = `${settings.maxInFlight.name} is ${maxInFlight}, but the runtime makes at most ${atOnce} requests at once. So at most ${slots.normal} deliveries run at once, and ${slots.slow} more to hosts that do not answer (${settings.slowSharePercent.name}): also set ${runtimeRequestsName}=${wanted} in the environment (not in the file), or use a smaller ${settings.maxInFlight.name}.`
  return { slots, warnings: [warning] }
}
