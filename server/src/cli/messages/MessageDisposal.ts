// Replays or discards undeliverable messages, one after the other, and says what became of each. One that fails does not
// keep the others from their turn, but several in a row mean that the service or the broker is away: then the rest is left.
import type { ListedMessage } from "@punctual/api/Messages"
import { Effect } from "effect"
import { CommandFailed, Output, type OutputClosed, printable } from "../frame/CommandRuntime.ts"
import type { MessageClient, MessagesPage } from "./MessageClient.ts"

export interface Disposal {
  readonly name: "replay" | "discard"
  readonly done: "replayed" | "discarded"
  dispose(
    client: MessageClient,
    namespace: string,
    id: string,
  ): Effect.Effect<"replayed" | "discarded" | "duplicate", CommandFailed>
}

export interface DisposalRun {
  readonly disposal: Disposal
  readonly client: MessageClient
  /** All namespaces without one. */
  readonly namespace: string | undefined
  readonly isJson: boolean
}

type Named = Pick<ListedMessage, "namespace" | "id">

type Disposing = Effect.Effect<void, CommandFailed | OutputClosed, Output>

export const disposeOfSome = (run: DisposalRun, namespace: string, ids: ReadonlyArray<string>): Disposing =>
  Effect.gen(function* () {
    const tally = yield* makeTally(run, ids.length)
    const walk = Effect.gen(function* () {
      for (const id of ids) if (!(yield* tally.one({ namespace, id }))) break
    })
    yield* concluded(walk, tally)
  })

/**
 * All that are there now. They are counted first, and the walk ends with the last of those: a message that is
 * replayed and fails again comes after it, and must not be replayed for ever.
 */
export const disposeOfAll = (run: DisposalRun): Disposing =>
  Effect.gen(function* () {
    const { answer, remark } = yield* Output
    const there = yield* countNow(run)
    if (there.lastId === undefined) {
      if (!run.isJson) yield* answer(noMessages(run.namespace))
      return
    }
    if (there.count >= progressEvery) yield* remark(`There are ${there.count} undeliverable messages.`)
    const tally = yield* makeTally(run, there.count)
    let seen = 0
    const walk = walkPages(run, (message) =>
      Effect.gen(function* () {
        if (seen++ >= there.count || message.storedAt > there.lastStoredAt) return false
        const canGoOn = yield* tally.one(message)
        return canGoOn && message.id !== there.lastId
      }),
    )
    yield* concluded(walk, tally)
  })

export const noMessages = (namespace: string | undefined, more = ""): string =>
  `No ${more}undeliverable messages${namespace === undefined ? "" : ` of ${namespace}`}.`

/** Messages that are read at once. */
const pageSize = 100

const progressEvery = 500

const failuresInARowMax = 3

/** Visits them oldest first, until the visit says that it was the last one. */
const walkPages = <E, R>(
  { client, namespace }: DisposalRun,
  visit: (message: ListedMessage) => Effect.Effect<boolean, E, R>,
): Effect.Effect<void, E | CommandFailed, R> =>
  Effect.gen(function* () {
    let cursor: string | undefined
    do {
      const page: MessagesPage = (yield* client.list(namespace, pageSize, cursor)).value
      for (const message of page.messages) if (!(yield* visit(message))) return
      cursor = page.nextCursor
    } while (cursor !== undefined)
  })

const countNow = (run: DisposalRun) =>
  Effect.gen(function* () {
    let count = 0
    let lastId: string | undefined
    let lastStoredAt = Number.NEGATIVE_INFINITY
    yield* walkPages(run, (message) =>
      Effect.sync(() => {
        count++
        lastId = message.id
        lastStoredAt = Math.max(lastStoredAt, message.storedAt)
        return true
      }),
    )
    return { count, lastId, lastStoredAt }
  })

type Fate = "done" | "duplicate" | "failed"

/** Disposes of them one by one, and keeps count. */
const makeTally = ({ disposal, client, isJson }: DisposalRun, total: number) =>
  Effect.map(Output, ({ answer, remark }) => {
    const counts: Record<Fate, number> = { done: 0, duplicate: 0, failed: 0 }
    let tried = 0
    let failuresInARow = 0
    const isStopped = () => failuresInARow >= failuresInARowMax

    /** Answers whether to go on. */
    const one = ({ namespace, id }: Named): Effect.Effect<boolean, OutputClosed> =>
      Effect.gen(function* () {
        const { result, error } = yield* disposal.dispose(client, namespace, id).pipe(
          Effect.map((result) => ({ result, error: undefined })),
          Effect.catch(({ message }) => Effect.succeed({ result: "failed" as const, error: message })),
        )
        const fate = result === "replayed" || result === "discarded" ? "done" : result
        counts[fate]++
        tried++
        failuresInARow = fate === "failed" ? failuresInARow + 1 : 0
        yield* answer(
          isJson
            ? JSON.stringify({ namespace, id, result, error })
            : `${printable(namespace)}  ${printable(id)}  ${fate === "failed" ? `failed: ${printable(error ?? "")}` : fateText(fate, disposal)}`,
        )
        if (tried % progressEvery === 0 && tried < total) yield* remark(`${tried} of ${total} …`)
        return !isStopped()
      }).pipe(Effect.uninterruptible)

    /** `leftOut`: what is to be said of those that had no turn. */
    const sentence = (leftOut: string): string => {
      const others = [
        [counts.duplicate, "duplicate"],
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
const concluded = (
  walk: Effect.Effect<void, CommandFailed | OutputClosed>,
  tally: Tally,
): Effect.Effect<void, CommandFailed | OutputClosed, Output> =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    yield* walk.pipe(
      Effect.onInterrupt(() => Effect.ignore(remark(`Interrupted: ${tally.sentence("not tried")}`))),
      Effect.catchIf(
        (error): error is CommandFailed => error instanceof CommandFailed,
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
      "duplicate: the broker has it from an earlier replay, so nothing was sent and it is still kept; try again in a few minutes, or discard it",
  })[fate]
