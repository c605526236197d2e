/** The time zone in which all pages show instants. */
import { Setting, useSetting } from "./Setting.ts"

export const isZone = (value: unknown): value is string => {
  if (value === "local") return true
  if (typeof value !== "string" || value === "" || value.length > 60) return false
  try {
    new Intl.DateTimeFormat("en", { timeZone: value })
    return true
  } catch {
    return false
  }
}

/** `local` is the zone of the browser. Every other value is an IANA name, such as `Europe/Berlin` or `UTC`. */
export const zoneSetting = new Setting<string>("zone", "local", (value): value is string => isZone(value))

export const localZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

export const zoneName = (zone: string): string => (zone === "local" ? localZone() : zone)

/** The IANA name of the zone in which the page shows instants. */
export const useZone = (): string => zoneName(useSetting(zoneSetting))

/** The zone in which the reader typed a time last. Empty: that of the pages. */
export const formZoneSetting = new Setting<string>(
  "formZone",
  "",
  (value): value is string => value === "" || (value !== "local" && isZone(value)),
)

/** The IANA name of the zone in which a form opens. */
export const useFormZone = (): string => {
  const pageZone = useZone()
  return useSetting(formZoneSetting) || pageZone
}

/** The zones that the browser knows, and UTC, which some browsers leave out. */
export const knownZones = (): ReadonlyArray<string> => [
  ...new Set(["UTC", localZone(), ...Intl.supportedValuesOf("timeZone")]),
]
