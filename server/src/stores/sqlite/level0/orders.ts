// Where statements find the entries of pending timers: in the layers of the reader, from the newest to the oldest, and below
// them in the tables and the runs. A layer hides each id that it has moved in all levels below it. Tables and runs
// hide nothing, because each entry is in one of them only.

/** The attached databases of a reader. */
export const layerNames = ["l0a", "l0b"] as const
export type LayerName = (typeof layerNames)[number]

/** Orders of pending timers: by key, by due time in a shard, by due time in a namespace. */
export type PendingOrder = "keys" | "dues" | "times"

/** What is asked besides the tables: layers from the newest to the oldest, and runs. */
export interface Levels {
  readonly layers: ReadonlyArray<LayerName>
  readonly runs: number
}

/** Entries of one level, whose alias is `e`, and the conditions under which they count. */
interface Level {
  readonly from: string
  readonly conditions: ReadonlyArray<string>
}

const levelsOf = ({ layers, runs }: Levels, order: PendingOrder): ReadonlyArray<Level> => {
  const ofLayers = layers.map((layer, index) => ({
    from: `${layer}.entries AS e INDEXED BY entries_by_${order}`,
    conditions: hiddenBy(layers.slice(0, index)),
  }))
  const hidden = hiddenBy(layers)
  const ofRuns = Array.from({ length: runs }, (_, index) => ({
    from: `main.run_${order} AS e`,
    conditions: [`e.run = ${runAt(index)}`, ...hidden],
  }))
  // Most timers of a large store are in the tables, so a look for one key finds them there first.
  return [...ofLayers, { from: `main.timer_${order} AS e`, conditions: hidden }, ...ofRuns]
}

/** The number of a run in use, or NULL. Statements do not name it, because they are prepared once for each number of runs. */
const runAt = (index: number): string =>
  `(SELECT first_run + ${index} FROM main.merging WHERE one = 1 AND first_run + ${index} <= last_run)`

/** For how many runs there are statements. */
const askedRuns = [0, 4, 12, 32, 64, 96]

/** So many runs are asked if there are this many: a statement takes milliseconds to prepare, and a run that does not exist costs nearly nothing. */
export const runsAsked = (runs: number): number => askedRuns.find((asked) => asked >= runs) ?? runs

const hiddenBy = (layers: ReadonlyArray<LayerName>): ReadonlyArray<string> =>
  layers.map((layer) => `e.id NOT IN (SELECT id FROM ${layer}.moved)`)

/** `select` gets the source of the entries of one level, and the conditions under which they count. */
export type SelectEntries = (from: string, conditions: ReadonlyArray<string>) => string

/** One SELECT for each level, all in one. */
export const unionOfLevels = (levels: Levels, order: PendingOrder, select: SelectEntries): string =>
  levelsOf(levels, order)
    .map(({ from, conditions }) => select(from, conditions))
    .join("\nUNION ALL ")

/**
 * The same, sorted and limited by `sorted`, which names columns of the rows. SQLite reads all levels side by side, and from
 * each only the rows that it needs.
 */
export const pageOfLevels = (
  levels: Levels,
  order: PendingOrder,
  select: SelectEntries,
  sorted: string,
): string => `${unionOfLevels(levels, order, select)} ${sorted}`

/** Only the tables. */
export const hasOneLevel = ({ layers, runs }: Levels): boolean => layers.length === 0 && runs === 0
