// Replays or discards undeliverable messages one after the other, and reports the result of each. The run continues
// after a failure. After several failures in a row it stops, because the service or the broker is unreachable.
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
  /** `undefined` means all namespaces. */
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
 * Handles all messages that exist now. It counts them first and stops after the last of them: a message that is
 * replayed and fails again gets a later place, and the run must not replay it for ever.
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

const pageSize = 100

const progressEvery = 500

const failuresInARowMax = 3

/** Visits the messages, oldest first, until `visit` returns false. */
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

/** Handles the messages one by one, and counts the results. */
const makeTally = ({ disposal, client, isJson }: DisposalRun, total: number) =>
  Effect.map(Output, ({ answer, remark }) => {
    const counts: Record<Fate, number> = { done: 0, duplicate: 0, failed: 0 }
    let tried = 0
    let failuresInARow = 0
    const isStopped = () => failuresInARow >= failuresInARowMax

    /** Returns whether to continue. */
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

    /** `leftOut` describes the messages that were not handled. */
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

/** Reports the progress in every case: also if the walk fails or is interrupted. */
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
    // Other operators may have handled some messages since the count.
    const message = tally.sentence(tally.isStopped() ? "not tried" : "already gone")
    if (!tally.isAllDone()) return yield* new CommandFailed({ message })
    yield* remark(message)
  })

const fateText = (fate: Exclude<Fate, "failed">, disposal: Disposal): string =>
  ({
    done: disposal.done,
    duplicate:
      "duplicate: the broker still remembers an earlier replay of this message, so nothing was sent. The message stays here: retry in a few minutes, or discard it",
  })[fate]
