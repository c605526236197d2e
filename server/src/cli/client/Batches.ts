// Some calls do a bounded part of the work and say whether there is more. This file repeats such a call until there is
// no more, and reports the progress, because many timers take a while.
import { Effect } from "effect"
import { CommandFailed, Output, type OutputClosed } from "../frame/CommandRuntime.ts"

/** The counts of a part, by kind of result. */
export type Counts<Name extends string> = Readonly<Record<Name, number>>

export interface Batch<Name extends string> {
  readonly counts: Counts<Name>
  readonly more: boolean
  /** Where the next part begins; `undefined` if the next part starts from the beginning again. */
  readonly next?: string
}

/** Makes a part from an answer of the contract. */
export const batchOf = <Name extends string>(
  counts: Counts<Name>,
  { more, nextCursor }: { readonly more?: true; readonly nextCursor?: string },
): Batch<Name> => ({
  counts,
  more: more === true,
  ...(nextCursor === undefined ? {} : { next: nextCursor }),
})

export interface Repeating<Name extends string> {
  readonly none: Counts<Name>
  readonly isProgress: (counts: Counts<Name>) => boolean
  /** For counts that cannot simply be added. */
  readonly add?: (sums: Counts<Name>, counts: Counts<Name>, goesOn: boolean) => Counts<Name>
  /** For work whose amount is known. */
  readonly isEnough?: (sums: Counts<Name>) => boolean
  /** For work that other clients may add to. True when the original amount is done: the rest is new. */
  readonly isOutrun?: (sums: Counts<Name>) => boolean
}

/** With a thousand timers in each call this is more than any store has, but it is finite. */
const callsMost = 100_000

/**
 * Returns the counts of all parts together, and whether there is still more. If a part made no progress and does not
 * say where to continue, the next call would do the same, so the repetition stops. If a part fails, the error says what
 * was done before it.
 */
export const repeatWhileMore = <Name extends string>(
  { none, isProgress, add = added, isEnough = () => false, isOutrun = () => false }: Repeating<Name>,
  call: (from: string | undefined) => Effect.Effect<Batch<Name>, CommandFailed>,
): Effect.Effect<Batch<Name>, CommandFailed | OutputClosed, Output> =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    let sums = none
    let from: string | undefined
    for (let calls = 1; ; calls++) {
      const batch: Batch<Name> = yield* Effect.mapError(call(from), ({ message }) =>
        calls === 1 ? new CommandFailed({ message }) : partly(message, sums),
      )
      sums = add(sums, batch.counts, from !== undefined)
      from = batch.next
      if (!batch.more || isEnough(sums)) return { counts: sums, more: false }
      const isLast = from === undefined && !isProgress(batch.counts)
      if (isLast || isOutrun(sums) || calls === callsMost) {
        return { counts: sums, more: true }
      }
      yield* remark(`${countsText(sums)} …`)
    }
  })

/** `3 cancelled, 1 in flight`; for a dry run `3 would be discarded` */
export const countsText = <Name extends string>(counts: Counts<Name>, verb = ""): string =>
  Object.entries<number>(counts)
    .map(
      ([name, count]) => `${count} ${verb}${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
    )
    .join(", ")

const partly = <Name extends string>(message: string, sums: Counts<Name>): CommandFailed =>
  new CommandFailed({ message: `${message} Before that: ${countsText(sums)}.` })

const added = <Name extends string>(sums: Counts<Name>, counts: Counts<Name>): Counts<Name> => {
  const total: Record<Name, number> = { ...sums }
  for (const name in counts) total[name] += counts[name]
  return total
}
