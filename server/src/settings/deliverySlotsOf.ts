// How many deliveries may run at once. The runtime limits the requests that it makes at once. Deliveries beyond this limit
// would wait inside the runtime while their timeouts run.
import { runtimeRequests, runtimeRequestsName } from "./runtimeRequests.ts"
import { settings } from "./Settings.ts"

export interface DeliverySlots {
  readonly normal: number
  /** Additional slots for hosts that do not answer. */
  readonly slow: number
  /** Additional slots for hosts about which nothing is known. */
  readonly trial: number
}

interface SlotSettings {
  readonly maxInFlight: number
  /** The slow slots as a percentage of the normal ones. 0: there are no slow slots. */
  readonly slowSharePercent: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** The runtime could run more, but each attempt holds a payload and its request in memory. */
const trialSlotsAtMost = 1_000
const trialsForEachNormal = 4

const slowSlotsOf = (normal: number, slowSharePercent: number): number =>
  Math.ceil((normal * slowSharePercent) / 100)

export const beyondRuntime = (
  { maxInFlight, slowSharePercent }: SlotSettings,
  environment: Environment,
): ReadonlyArray<string> => {
  const atOnce = runtimeRequests(environment)
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
  const atOnce = runtimeRequests(environment)
  const slow = slowSlotsOf(maxInFlight, slowSharePercent)
  const wanted = maxInFlight + slow
  if (wanted <= atOnce) return { slots: withTrials(maxInFlight, slow, atOnce), warnings: [] }
  const normal = Math.max(1, Math.floor((atOnce * 100) / (100 + slowSharePercent)))
  const slots = withTrials(normal, Math.min(slowSlotsOf(normal, slowSharePercent), atOnce - normal), atOnce)
  const warning = `${settings.maxInFlight.name} is ${maxInFlight}, but the runtime makes at most ${atOnce} requests at once. So at most ${slots.normal} deliveries run at once, and ${slots.slow} more to hosts that do not answer (${settings.slowSharePercent.name}): also set ${runtimeRequestsName}=${wanted} in the environment (not in the file), or use a smaller ${settings.maxInFlight.name}.`
  return { slots, warnings: [warning] }
}

/** Adds trial slots, as many as the runtime has requests left. */
const withTrials = (normal: number, slow: number, atOnce: number): DeliverySlots => ({
  normal,
  slow,
  trial: slow === 0 ? 0 : Math.min(atOnce - normal - slow, normal * trialsForEachNormal, trialSlotsAtMost),
})
