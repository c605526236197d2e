// How many requests the runtime makes at once. This file imports nothing, because the entry of the program loads it before
// everything else.

/** The runtime reads its limit when it starts, so a line in the file of settings is too late. */
export const runtimeRequestsName = "BUN_CONFIG_MAX_HTTP_REQUESTS"

const byDefault = 256

/** How many requests a runtime with this environment makes at once. */
export const runtimeRequests = (environment: Readonly<Record<string, string | undefined>>): number => {
  const text = environment[runtimeRequestsName] ?? ""
  return /^[1-9]\d{0,4}$/.test(text) ? Number(text) : byDefault
}

/**
 * The environment of a service whose runtime also makes requests of another product. The service leaves that many to it,
 * but keeps what every runtime has.
 */
export const leavingRequests = (
  environment: Readonly<Record<string, string | undefined>>,
  ofOther: number,
): Readonly<Record<string, string | undefined>> => {
  const all = runtimeRequests(environment)
  const own = Math.max(all - ofOther, Math.min(all, byDefault))
  return { ...environment, [runtimeRequestsName]: String(own) }
}
