/**
 * Every bound of the contract in one value. Schemas are built from it, so that an operator who raises a
 * limit changes what is accepted, what the refusal says and what the OpenAPI document states, all at once.
 */
export interface Limits {
  /** The largest payload, counted in bytes of its JSON text. The server checks it: it holds that text. */
  readonly payloadBytes: number
  /** How many headers a webhook target may set. */
  readonly headers: number
  /** The names and values of those headers, in all. */
  readonly headerBytes: number
  readonly urlLength: number
  /** How many timers one createMany may carry. */
  readonly createMany: number
  readonly bodyBytes: number
  readonly createManyBodyBytes: number
  readonly listPage: number
  readonly listPageDefault: number
  /** How many namespaces one list answers. */
  readonly namespacePage: number
  readonly cursorLength: number
  /**
   * How far ahead a timer may lie. A schema checks `delay` against it; `executeAt` needs the time of
   * receipt, so the server checks that one.
   */
  readonly aheadMs: number
  readonly timeoutMinMs: number
  readonly timeoutMaxMs: number
  readonly timeoutDefaultMs: number
  /** The most attempts a retry policy may ask for. */
  readonly attempts: number
  /** The longest wait a retry policy may ask for between two attempts. */
  readonly retryIntervalMs: number
}

const dayMs = 86_400_000

export const defaultLimits: Limits = {
  payloadBytes: 64 * 1024,
  headers: 32,
  headerBytes: 8 * 1024,
  urlLength: 2048,
  createMany: 1000,
  bodyBytes: 1024 * 1024,
  createManyBodyBytes: 16 * 1024 * 1024,
  listPage: 1000,
  listPageDefault: 100,
  namespacePage: 100,
  cursorLength: 1024,
  // Ten years with the most leap days ten years can hold.
  aheadMs: 3653 * dayMs,
  timeoutMinMs: 1_000,
  timeoutMaxMs: 300_000,
  timeoutDefaultMs: 15_000,
  attempts: 100,
  retryIntervalMs: 30 * dayMs,
}

/** The setting of the service that changes a limit: TIMER_LIMIT_ and the limit's name, durations without their unit. */
export const limitSettingName = (key: keyof Limits): string =>
  `TIMER_LIMIT_${key
    .replace(/Ms$/, "")
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()}`

/** Ends the refusal of a value that is beyond limits: an operator reads there which settings change them. */
export const limitHint = (...keys: ReadonlyArray<keyof Limits>): string =>
  ` (the service's ${keys.length > 1 ? "settings" : "setting"} ${keys.map(limitSettingName).join(" and ")})`
