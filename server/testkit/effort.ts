// How many random cases the tests try. The runner of the tests chooses: few for an answer within a minute, the usual
// number before a commit, ten times as many now and then. Nothing else reads PUNCTUAL_EFFORT.

const efforts = {
  fast: { shareOfRuns: 1 / 4, seeds: 20 },
  usual: { shareOfRuns: 1, seeds: 300 },
  matrix: { shareOfRuns: 10, seeds: 300 },
} as const

const isEffort = (name: string): name is keyof typeof efforts => Object.hasOwn(efforts, name)

const chosen = (): (typeof efforts)[keyof typeof efforts] => {
  const name = process.env["PUNCTUAL_EFFORT"] ?? "usual"
  if (!isEffort(name)) {
    throw new Error(`PUNCTUAL_EFFORT=${name} is unknown: use ${Object.keys(efforts).join(", ")}`)
  }
  return efforts[name]
}

const { shareOfRuns, seeds } = chosen()

/** The runs of a property or model test that usually does `usualRuns`. */
export const runsOf = (usualRuns: number): number => Math.ceil(usualRuns * shareOfRuns)

/** Of a list of cases, those that are tried: all, or in the fast run every fourth. */
export const casesOf = <Case>(cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  shareOfRuns < 1 ? cases.filter((_, index) => index % 4 === 0) : cases

/** The time limit of such a test, which usually is `usualMs`. It only keeps a hanging test from running on. */
export const timeLimitMsOf = (usualMs: number): number => Math.ceil(usualMs * Math.max(1, shareOfRuns))

/** The worlds that the simulator's own test goes through. */
export const simulatedSeeds: number = seeds
