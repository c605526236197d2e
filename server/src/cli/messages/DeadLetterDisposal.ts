// Replays or discards dead letters, one after the other, and says what became of each. One that fails does not
// keep the others from their turn, but several in a row mean that the broker is away: then the rest is left.
import { Effect } from "effect"
import { BusError, type DeadLetterEntry, type DeadLetters } from "../../ports/Bus.ts"
import { CommandFailed, Output, type OutputClosed, printable } from "../frame/CommandRuntime.ts"

export interface Disposal {
  readonly name: "replay" | "discard"
  readonly done: "replayed" | "discarded"
  dispose(
    letters: DeadLetters,
    tenant: string,
    id: string,
  ): Effect.Effect<"replayed" | "discarded" | "duplicate" | "notFound", BusError>
}

export interface DisposalRun {
  readonly disposal: Disposal
  readonly letters: DeadLetters
  readonly tenant: string
  readonly isJson: boolean
}

type Disposing = Effect.Effect<void, CommandFailed | OutputClosed | BusError, Output>

export const disposeOfSome = (run: DisposalRun, ids: ReadonlyArray<string>): Disposing =>
  Effect.gen(function* () {
    const tally = yield* makeTally(run, ids.length)
    const walk = Effect.gen(function* () {
      for (const id of ids) if (!(yield* tally.one(id))) break
    })
    yield* concluded(walk, tally)
  })

/**
 * All that are there now. They are counted first, and the walk ends with the last of those: a message that is
 * replayed and dies again comes after it, and must not be replayed for ever.
 */
export const disposeOfAll = (run: DisposalRun): Disposing =>
  Effect.gen(function* () {
    const { answer, remark } = yield* Output
    const there = yield* countNow(run)
    if (there.lastId === undefined) {
      if (!run.isJson) yield* answer(`No dead letters for tenant ${run.tenant}.`)
      return
    }
    if (there.count >= progressEvery) yield* remark(`There are ${there.count} dead letters.`)
    const tally = yield* makeTally(run, there.count)
    let seen = 0
    const walk = walkPages(run, (entry) =>
      Effect.gen(function* () {
        if (seen++ >= there.count || entry.diedAt > there.lastDiedAt) return false
        const canGoOn = yield* tally.one(entry.id)
        return canGoOn && entry.id !== there.lastId
      }),
    )
    yield* concluded(walk, tally)
  })

/** Letters that are read at once, each with its message. */
const pageSize = 100

const progressEvery = 500

const failuresInARowMax = 3

/** Visits them oldest first, until the visit says that it was the last one. */
const walkPages = <E, R>(
  { letters, tenant }: DisposalRun,
  visit: (entry: DeadLetterEntry) => Effect.Effect<boolean, E, R>,
): Effect.Effect<void, E | BusError, R> =>
  Effect.gen(function* () {
    let cursor: string | undefined
    do {
      const page: Effect.Success<ReturnType<DeadLetters["list"]>> = yield* letters.list(tenant, {
        limit: pageSize,
        ...(cursor === undefined ? {} : { cursor }),
      })
      for (const entry of page.entries) if (!(yield* visit(entry))) return
      cursor = page.next
    } while (cursor !== undefined)
  })

const countNow = (run: DisposalRun) =>
  Effect.gen(function* () {
    let count = 0
    let lastId: string | undefined
    let lastDiedAt = Number.NEGATIVE_INFINITY
    yield* walkPages(run, (entry) =>
      Effect.sync(() => {
        count++
        lastId = entry.id
        lastDiedAt = Math.max(lastDiedAt, entry.diedAt)
        return true
      }),
    )
    return { count, lastId, lastDiedAt }
  })

type Fate = "done" | "duplicate" | "notFound" | "failed"

/** Disposes of them one by one, and keeps count. */
const makeTally = ({ disposal, letters, tenant, isJson }: DisposalRun, total: number) =>
  Effect.map(Output, ({ answer, remark }) => {
    const counts: Record<Fate, number> = { done: 0, duplicate: 0, notFound: 0, failed: 0 }
    let tried = 0
    let failuresInARow = 0
    const isStopped = () => failuresInARow >= failuresInARowMax

    /** Answers whether to go on. Not to be interrupted half-way: published, but not removed. */
    const one = (id: string): Effect.Effect<boolean, OutputClosed> =>
      Effect.gen(function* () {
        const { result, error } = yield* disposal.dispose(letters, tenant, id).pipe(
          Effect.map((result) => ({ result, error: undefined })),
          Effect.catch(({ message }) => Effect.succeed({ result: "failed" as const, error: message })),
        )
        const fate = result === "replayed" || result === "discarded" ? "done" : result
        counts[fate]++
        tried++
        failuresInARow = fate === "failed" ? failuresInARow + 1 : 0
        yield* answer(
          isJson
            ? JSON.stringify({ id, result, error })
            : `${printable(id)}  ${fate === "failed" ? `failed: ${printable(error ?? "")}` : fateText(fate, disposal)}`,
        )
        if (tried % progressEvery === 0 && tried < total) yield* remark(`${tried} of ${total} …`)
        return !isStopped()
      }).pipe(Effect.uninterruptible)

    /** `leftOut`: what is to be said of those that had no turn. */
    const sentence = (leftOut: string): string => {
      const others = [
        [counts.duplicate, "duplicate"],
        [counts.notFound, "not found"],
        [counts.failed, "failed"],
        [total - tried, leftOut],
      ] as const
      const rest = others.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
      return `${[`${counts.done} of ${total} ${disposal.done}`, ...rest].join(", ")}.`
    }
    return { one, sentence, isStopped, isAllDone: () => counts.done === tried }
  })

type Tally = Effect.Success<ReturnType<typeof makeTally>>

/** However the walk ends, it is told how far it came. */
const concluded = <E>(
  walk: Effect.Effect<void, E | BusError | OutputClosed>,
  tally: Tally,
): Effect.Effect<void, Exclude<E, BusError> | CommandFailed | OutputClosed, Output> =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    yield* walk.pipe(
      Effect.onInterrupt(() => Effect.ignore(remark(`Interrupted: ${tally.sentence("not tried")}`))),
      Effect.catchIf(
        (error): error is BusError => error instanceof BusError,
        ({ message }) =>
          Effect.fail(new CommandFailed({ message: `${message} ${tally.sentence("not tried")}` })),
      ),
    )
    // Others may have disposed of some since they were counted.
    const message = tally.sentence(tally.isStopped() ? "not tried" : "gone before their turn")
    if (!tally.isAllDone()) return yield* new CommandFailed({ message })
    yield* remark(message)
  })

const fateText = (fate: Exclude<Fate, "failed">, disposal: Disposal): string =>
  ({
    done: disposal.done,
    duplicate:
      "duplicate: the broker has it from an earlier replay, so nothing was published and the dead letter stays; try again in a few minutes, or discard it",
    notFound: "not found",
  })[fate]
