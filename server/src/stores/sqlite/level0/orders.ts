// Where statements find the entries of pending timers: in the layers of the reader, from the newest to the oldest, and in
// the tables below them. A layer hides each id that it has moved in all levels below it.

/** The attached databases of a reader. */
export const layerNames = ["l0a", "l0b"] as const
export type LayerName = (typeof layerNames)[number]

/** Orders of pending timers: by key, by due time in a shard, by due time in a namespace. */
export type PendingOrder = "keys" | "dues" | "times"

interface Level {
  readonly schema: LayerName | "main"
  readonly above: ReadonlyArray<LayerName>
}

/** `layers` from the newest to the oldest. */
const levelsOf = (layers: ReadonlyArray<LayerName>): ReadonlyArray<Level> => [
  ...layers.map((schema, index) => ({ schema, above: layers.slice(0, index) })),
  { schema: "main", above: layers },
]

/** The entries of an order in one level. Their alias is `e`. */
const entriesIn = (schema: LayerName | "main", order: PendingOrder): string =>
  schema === "main" ? `main.timer_${order} AS e` : `${schema}.entries AS e INDEXED BY entries_by_${order}`

/** `select` gets the source of the entries of one level, and the conditions under which they count. */
export type SelectEntries = (from: string, conditions: ReadonlyArray<string>) => string

/** One SELECT for each level, all in one. */
export const unionOfLevels = (
  layers: ReadonlyArray<LayerName>,
  order: PendingOrder,
  select: SelectEntries,
): string =>
  levelsOf(layers)
    .map(({ schema, above }) =>
      select(
        entriesIn(schema, order),
        above.map((layer) => `e.id NOT IN (SELECT id FROM ${layer}.moved)`),
      ),
    )
    .join("\nUNION ALL ")

/** The same for SELECTs whose rows are sorted and limited, as one page of rows. */
export const pageOfLevels = (
  layers: ReadonlyArray<LayerName>,
  order: PendingOrder,
  select: SelectEntries,
  sorted: string,
): string => {
  const page: SelectEntries = (from, conditions) => `${select(from, conditions)} ${sorted}`
  if (layers.length === 0) return unionOfLevels(layers, order, page)
  const pages = unionOfLevels(
    layers,
    order,
    (from, conditions) => `SELECT * FROM (${page(from, conditions)})`,
  )
  return `SELECT * FROM (${pages}) ${sorted}`
}
