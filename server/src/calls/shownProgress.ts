// The progress of a call on many timers, as the contract shows it.

export interface Progress {
  readonly more: boolean
  readonly next?: string
}

export type ShownProgress<Counts> = Omit<Counts, "more" | "next"> & {
  readonly more?: true
  readonly nextCursor?: string
}

export const shownProgress = <Counts extends Progress>(counts: Counts): ShownProgress<Counts> => {
  const { more, next, ...rest } = counts
  return { ...rest, ...(more ? { more } : {}), ...(next === undefined ? {} : { nextCursor: next }) }
}
