/**
 * All limits of the contract in one value. The schemas are built from it. So an operator who raises a limit changes
 * what the service accepts, what a refusal says and what the OpenAPI document states.
 */
export interface Limits {
  /** The largest payload in bytes of its JSON text. The server checks it, because only the server has that text. */
  readonly payloadBytes: number
  /** How many headers a webhook target may set. */
  readonly headers: number
  /** The names and values of these headers together. */
  readonly headerBytes: number
  readonly urlLength: number
  /** How many timers one createMany may carry. */
  readonly createMany: number
  readonly bodyBytes: number
  readonly createManyBodyBytes: number
  readonly listPage: number
  readonly listPageDefault: number
  /** How many namespaces one page of a list has. */
  readonly namespacePage: number
  readonly cursorLength: number
  /**
   * How far in the future a timer may be. A schema checks `delay`. The server checks `executeAt`, because that check
   * needs the time of receipt.
   */
  readonly aheadMs: number
  readonly timeoutMinMs: number
  readonly timeoutMaxMs: number
  readonly timeoutDefaultMs: number
  /** The largest number of attempts of a retry policy. */
  readonly attempts: number
  /** The longest wait of a retry policy between two attempts. */
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
  // Ten years with as many leap days as possible.
  aheadMs: 3653 * dayMs,
  timeoutMinMs: 1_000,
  timeoutMaxMs: 300_000,
  timeoutDefaultMs: 15_000,
  attempts: 100,
  retryIntervalMs: 30 * dayMs,
}

/** The setting that changes a limit: TIMER_LIMIT_ and the name of the limit, without the unit of durations. */
export const limitSettingName = (key: keyof Limits): string =>
  `TIMER_LIMIT_${key
    .replace(/Ms$/, "")
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()}`

/** The end of a refusal because of a limit. It tells operators which settings change the limit. */
export const limitHint = (...keys: ReadonlyArray<keyof Limits>): string =>
  ` (the service's ${keys.length > 1 ? "settings" : "setting"} ${keys.map(limitSettingName).join(" and ")})`

/**
 * A page of a list ends when its rows have about this many bytes, even if it has fewer rows than the caller allows. This
 * limit is fixed. A larger page would hold the thread of the service for too long.
 */
export const pageBytesMax = 1024 * 1024

/** The end of the description of a page. */
export const pageBytesText = "A page also ends when it has about 1 MiB."

/**
 * The limits of the form of a body. They are fixed. A body beyond them is refused before it is parsed, because parsing
 * it would hold the thread of the service for too long.
 */
export const bodyForm = {
  /** How many arrays and objects may be inside each other, from the body itself to the innermost part of a payload. */
  depthMax: 64,
  /** How many fields and elements a body may have, payloads included. */
  valuesMax: 200_000,
  /** The same for a request, or for one item of createMany, without its payload. */
  ownValuesMax: 2_000,
  /** How many bytes a request, or one item of createMany, may have besides its payload. */
  ownBytesMax: 512 * 1024,
} as const
