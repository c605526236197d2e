// What kind of world a seed makes: how many nodes and shards, how small their bounds, which troubles befall
// them. Seeds differ in kind, not only in detail: a world with every trouble at once hides what a world with
// two of them shows, and a world without any must be faultless.
import { defaultEngineOptions, type EngineOptions } from "../../src/engine/Engine.ts"
import type { Chance } from "./Chance.ts"

export const troubles = [
  "crash",
  "drain",
  "pause",
  "storeCut",
  "storeFlaky",
  "storeSlow",
  "clockJump",
  "peersCut",
  "peersFlaky",
  "storeLate",
] as const

export type Trouble = (typeof troubles)[number]

/** How the targets of a namespace behave while there are troubles; afterwards all are well. */
export type Temper = "calm" | "moody" | "recurring"

export interface Tenant {
  readonly namespace: string
  readonly temper: Temper
  /** Its timers are asked for over the bus: schedules, and no payloads. */
  readonly isOnBus: boolean
}

export interface Scenario {
  readonly nodes: number
  readonly shards: number
  readonly tenants: ReadonlyArray<Tenant>
  readonly clients: number
  /** Between two asks of one client, on average. */
  readonly askEveryMs: number
  readonly troubles: ReadonlyArray<Trouble>
  /** Between two troubles, on average. */
  readonly troubleEveryMs: number
  /** Troubles and new work end here; then the world is given time to come to rest. */
  readonly troubledMs: number
  readonly calmMs: number
  /** Whether machines differ in time at all. */
  readonly driftOfClocks: number
  /** A node that comes back is another member. */
  readonly isRenamedOnRestart: boolean
  /** The bounds are so wide that nobody waits for room. */
  readonly isAmple: boolean
  readonly batchItems: number
  readonly concurrentWrites: number
  readonly engine: EngineOptions
  /** Now and then someone stops what is fired, of a namespace or of all. */
  readonly hasOperators: boolean
}

const tenants: ReadonlyArray<Tenant> = [
  { namespace: "calm", temper: "calm", isOnBus: false },
  { namespace: "moody", temper: "moody", isOnBus: false },
  { namespace: "again", temper: "recurring", isOnBus: false },
  { namespace: "bus", temper: "moody", isOnBus: true },
  { namespace: "quiet", temper: "calm", isOnBus: false },
]

export const scenarioOf = (chance: Chance): Scenario => {
  const isAmple = chance.happens(0.6)
  const hasTroubles = chance.happens(0.85)
  // Some of the troubles, from one to all of them.
  const often = chance.oneOf([0.25, 0.5, 0.8])
  const chosen = hasTroubles
    ? troubles.filter((trouble) => trouble !== "storeLate" && chance.happens(often))
    : []
  const scenario: Scenario = {
    nodes: chance.oneOf([1, 2, 3, 3, 3, 4]),
    shards: chance.oneOf([1, 2, 3, 4, 8]),
    tenants,
    clients: chance.between(2, 4),
    askEveryMs: chance.oneOf([200, 400, 800]),
    troubles: chosen,
    troubleEveryMs: chance.oneOf([1_500, 4_000, 9_000]),
    troubledMs: chance.between(45_000, 75_000),
    calmMs: 30_000,
    driftOfClocks: hasTroubles ? chance.oneOf([0, 0.001, 0.01]) : 0,
    isRenamedOnRestart: chance.happens(0.5),
    isAmple,
    batchItems: chance.oneOf([3, 50, 1_000]),
    concurrentWrites: chance.oneOf([1, 2, 4]),
    engine: engineOptionsOf(chance, isAmple),
    // Drawn last, so that worlds without them are what they were.
    hasOperators: chance.happens(0.35),
  }
  // Drawn after all others, so that worlds without it are what they were.
  const isLate = hasTroubles && chance.happens(often)
  return isLate ? { ...scenario, troubles: [...chosen, "storeLate"] } : scenario
}

const engineOptionsOf = (chance: Chance, isAmple: boolean): EngineOptions => {
  const { window, dispatch, queue } = defaultEngineOptions
  const lookAheadMs = chance.oneOf([2_500, 5_000, 15_000, 60_000])
  return {
    ...defaultEngineOptions,
    pollingIntervalMs: chance.oneOf([2_000, 5_000]),
    window: isAmple
      ? { ...window, lookAheadMs, page: chance.oneOf([20, 500]) }
      : {
          timers: chance.oneOf([20, 40, 150]),
          bytes: chance.oneOf([40_000, 1 << 20]),
          page: chance.oneOf([3, 10]),
          lookAheadMs,
        },
    dispatch: {
      ...dispatch,
      ...(isAmple
        ? { inFlight: 64, inFlightPerNamespace: 24, inFlightPerHost: 12 }
        : { inFlight: 12, inFlightPerNamespace: 5, inFlightPerHost: 3 }),
      breaker: { failures: 5, firstPauseMs: 500, longestPauseMs: 3_000 },
    },
    queue: isAmple ? queue : { queuedItems: 60, queuedBytes: 1 << 20 },
    // Conservation is counted over everything that ever was.
    historyRetentionMs: 86_400_000_000,
  }
}
