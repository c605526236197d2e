// Which kind of world a seed makes: how many nodes and shards, how small their limits, and which troubles happen. Seeds
// differ in kind, not only in detail. A world with every trouble at once hides faults that a world with two troubles
// shows. A world without troubles must have no fault at all.
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

/** How the targets of a namespace behave while there are troubles. Afterwards all targets are healthy. */
export type Temper = "calm" | "moody" | "recurring"

export interface Tenant {
  readonly namespace: string
  readonly temper: Temper
  /** Clients ask for timers of this tenant over the bus: schedules without payloads. */
  readonly isOnBus: boolean
}

export interface Scenario {
  readonly nodes: number
  readonly shards: number
  readonly tenants: ReadonlyArray<Tenant>
  readonly clients: number
  /** The average time between two requests of one client. */
  readonly askEveryMs: number
  readonly troubles: ReadonlyArray<Trouble>
  /** The average time between two troubles. */
  readonly troubleEveryMs: number
  /** Troubles and new work end at this time. Then the world gets time to come to rest. */
  readonly troubledMs: number
  readonly calmMs: number
  /** How far the clocks of machines drift. Zero means that all machines agree. */
  readonly driftOfClocks: number
  /** A node that restarts joins as a new member, under a new name. */
  readonly isRenamedOnRestart: boolean
  /** The limits are so wide that no request waits for room. */
  readonly isAmple: boolean
  readonly batchItems: number
  readonly concurrentWrites: number
  readonly engine: EngineOptions
  /** Now and then an operator pauses firing, for one namespace or for all. */
  readonly hasOperators: boolean
  /** Now and then a client that was down creates many timers at once: overdue ones, and those of the next minute. */
  readonly hasCatchUps: boolean
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
  // At least one trouble, and at most all of them.
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
    // This draw comes last, so that worlds without operators stay the same as before.
    hasOperators: chance.happens(0.35),
    hasCatchUps: false,
  }
  // These draws come after all others, so that worlds without late calls and without catch-ups stay the same as before.
  const isLate = hasTroubles && chance.happens(often)
  // Only small limits show what so many timers do to each other.
  const hasCatchUps = !isAmple && chance.happens(0.5)
  return { ...scenario, hasCatchUps, troubles: isLate ? [...chosen, "storeLate"] : chosen }
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
    queue: isAmple ? queue : { queuedItems: 60, queuedBytes: 1 << 20, waitMs: 5 },
    // The conservation check counts every life of the run, so the store must keep all history.
    historyRetentionMs: 86_400_000_000,
  }
}
