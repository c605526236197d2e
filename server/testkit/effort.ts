// How many random cases the tests try. The test runner chooses: few for a result within a minute, the usual number
// before a commit, and twenty times as many now and then. Nothing else reads PUNCTUAL_EFFORT.

const efforts = {
  fast: {
    shareOfRuns: 1 / 4,
    seeds: 20,
    listedTimers: 10_000,
    crashedCalls: 200,
    moves: 200,
    hasAllRuntimes: false,
    tenantQueues: 300,
    cuts: 100,
    faults: 4,
    kills: 2,
  },
  usual: {
    shareOfRuns: 1 / 2,
    seeds: 100,
    listedTimers: 10_000,
    crashedCalls: 200,
    moves: 200,
    hasAllRuntimes: false,
    tenantQueues: 300,
    cuts: 150,
    faults: 4,
    kills: 3,
  },
  matrix: {
    shareOfRuns: 10,
    seeds: 150,
    listedTimers: 1_000_000,
    crashedCalls: 5_000,
    moves: 10_000,
    hasAllRuntimes: true,
    tenantQueues: 2_000,
    cuts: 20_000,
    faults: 400,
    kills: 300,
  },
} as const

const isEffort = (name: string): name is keyof typeof efforts => Object.hasOwn(efforts, name)

const chosen = (): (typeof efforts)[keyof typeof efforts] => {
  const name = process.env["PUNCTUAL_EFFORT"] ?? "usual"
  if (!isEffort(name)) {
    throw new Error(`PUNCTUAL_EFFORT=${name} is unknown: use ${Object.keys(efforts).join(", ")}`)
  }
  return efforts[name]
}

const {
  shareOfRuns,
  seeds,
  listedTimers: listed,
  crashedCalls: crashed,
  moves,
  hasAllRuntimes,
  tenantQueues: tenants,
  cuts,
  faults,
  kills,
} = chosen()

const isFast = shareOfRuns < efforts.usual.shareOfRuns
const isMatrix = shareOfRuns > efforts.usual.shareOfRuns

/** How often a property or a model is tried: half of `runs`, a quarter in the fast run, and ten times as many in the matrix. */
export const runsOf = (runs: number): number => Math.ceil(runs * shareOfRuns)

/** The cases that the tests try: all of the list, or every fourth in the fast run. */
export const casesOf = <Case>(cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  isFast ? cases.filter((_, index) => index % 4 === 0) : cases

/** The time limit of such a test, which usually is `usualMs`. The limit only ends a hanging test. */
export const timeLimitMsOf = (usualMs: number): number => Math.ceil(usualMs * Math.max(1, shareOfRuns))

/** How many worlds the simulator's own test runs. */
export const simulatedSeeds: number = seeds

/** How many pending timers the pages of the console list. */
export const listedTimers: number = listed

/** How many calls the Service Agent gets while it is killed at every step. */
export const crashedCalls: number = crashed

/** How often one timer is moved in a database that keeps deleted rows for a while. */
export const movesOfOneTimer: number = moves

/** In the matrix every bus and every store has all its crashes. Otherwise one pair has all, and the others have one. */
export const isEveryCrashTried: boolean = isMatrix

/** Whether an upgrade of a cluster is also tried from versions before the latest one, and a store on an older server. */
export const isEveryVersionTried: boolean = isMatrix

/** Whether tests write ten thousand timers to stores that need tens of seconds for it. */
export const fillsSlowStores: boolean = isMatrix

/** The faults of clusters on databases other than PostgreSQL, which has all of them in every run. */
export const clusterFaultsTried: "all" | "killedNode" = isMatrix ? "all" : "killedNode"

/**
 * Whether a test of a cluster judges how long something took. Only the matrix does: other tests run beside those of
 * `npm test`, and a busy machine is slow without a fault.
 */
export const judgesTimes: boolean = isMatrix

/** How many requests a second a cluster gets. Databases that cannot take as many get fewer. */
export const clusterRequestsPerSecond: number = isMatrix ? 200 : 60

/** Whether the client library is also tested on runtimes and with tools that must be downloaded first. */
export const testsAllRuntimes: boolean = hasAllRuntimes

/** How many tenants the tests of a broker give a queue of their own. */
export const tenantQueues: number = tenants

/** How many kills and power cuts a recorded disk of an SQLite store gets. */
export const recordedCuts: number = cuts

/** How many calls of such a store to its disk fail, one in each run. */
export const recordedFaults: number = faults

/** How often the service is killed while it merges. */
export const killsOfMerges: number = kills

/** The long tests of the matrix say how far they are. */
export const reportProgress = (text: string): void => {
  if (isMatrix) process.stderr.write(`  ${text}\n`)
}
