// What this package needs of a connection of the driver. The adapters of the stores know the driver.

export interface SqlSession {
  /** Runs one statement with values and returns its rows, or, with `simple`, several statements without values. */
  unsafe(text: string, values?: Array<unknown>): SqlQuery
}

interface SqlQuery extends Promise<unknown> {
  simple(): PromiseLike<unknown>
}
