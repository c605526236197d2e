// Calls that do a bounded part at a time and say when there is more: repeated here until there is none, with what was
// done told on the way, since of many timers that takes its time.
import { Effect } from "effect"
import { CommandFailed, Output, type OutputClosed } from "../frame/CommandRuntime.ts"

/** What one part came to, by what was done. */
export type Counts<Name extends string> = Readonly<Record<Name, number>>

export interface Batch<Name extends string> {
  readonly counts: Counts<Name>
  readonly more: boolean
  /** Where the next part begins, if that is not the beginning again. */
  readonly next?: string
}

/** A part, by what an answer of the contract says of it. */
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
  /** Where counts of parts are not simply added. */
  readonly add?: (sums: Counts<Name>, counts: Counts<Name>, goesOn: boolean) => Counts<Name>
  /** Where it is known how much there was to do. */
  readonly isEnough?: (sums: Counts<Name>) => boolean
  /** Where others may add to it meanwhile: as much was done as there was, and if there is more, it is theirs. */
  readonly isOutrun?: (sums: Counts<Name>) => boolean
}

/** Of a thousand timers each: more than anyone has, and not without an end. */
const callsMost = 100_000

/**
 * The counts of all parts together, and whether there is more all the same. A part that did nothing although there is
 * more, and does not say where to go on, would be followed by the same part for ever: it is the last one. If a part fails,
 * the error says what was done before it.
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

/** `3 cancelled, 1 in flight` */
export const countsText = <Name extends string>(counts: Counts<Name>): string =>
  Object.entries<number>(counts)
    .map(([name, count]) => `${count} ${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`)
    .join(", ")

const partly = <Name extends string>(message: string, sums: Counts<Name>): CommandFailed =>
  new CommandFailed({ message: `${message} Before that: ${countsText(sums)}.` })

const added = <Name extends string>(sums: Counts<Name>, counts: Counts<Name>): Counts<Name> => {
  const total: Record<Name, number> = { ...sums }
  for (const name in counts) total[name] += counts[name]
  return total
}
