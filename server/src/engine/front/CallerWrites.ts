// Passes a write of a caller to the owner of its shard, which is this node or another one. The caller gets exactly one
// answer within a time limit.
import { Effect, Latch } from "effect"
import { keyOfItem, type Unstorable, type WriteAnswer } from "../../domain/WriteItem.ts"
import type { CarriedItem } from "../../ports/Peers.ts"
import type { CarriedResult } from "../forwarding/CarriedWrite.ts"
import type { Forwarder } from "../forwarding/Forwarder.ts"
import { mapInSlices } from "../mapInSlices.ts"
import { type OwnWrites, retryAfterMs } from "../writing/OwnWrites.ts"
import { AnswerLimit, type AnswerLimitParts } from "./AnswerLimit.ts"
import {
  NoOwner,
  type RefusedWrite,
  TimerUnreadable,
  TimerUnstorable,
  TooManyWrites,
} from "./RefusedWrite.ts"

export interface CallerWritesParts extends AnswerLimitParts {
  readonly own: Pick<OwnWrites, "begin">
  /** Absent if only one process uses the store. */
  readonly forwarder: Pick<Forwarder, "holds" | "carry"> | undefined
  /** The process is stopping and accepts no new writes. */
  readonly isDraining: () => boolean
}

/** The longest time from the receipt of a write to its answer, a little more than the limit of the forwarder. */
const ownAnswerWithinMs = 5_500

export class CallerWrites {
  readonly #parts: CallerWritesParts
  /**
   * A store that does not answer this node may answer another one. So with several nodes the caller gets a timely error
   * and can ask another node. With a single node there is no other to ask.
   */
  readonly #limit: AnswerLimit | undefined

  constructor(parts: CallerWritesParts) {
    this.#parts = parts
    this.#limit = parts.forwarder === undefined ? undefined : new AnswerLimit(parts, ownAnswerWithinMs)
  }

  /** The same as `begin`, but answers within the time limit. */
  beginInTime<Answer extends WriteAnswer>(
    item: CarriedItem,
    onAnswer: (answer: Exclude<Answer, Unstorable> | RefusedWrite) => void,
  ): void {
    const limit = this.#limit
    if (limit === undefined) {
      this.begin<Answer>(item, onAnswer)
      return
    }
    const wait = limit.begin(() => onAnswer(late()))
    this.begin<Answer>(item, (answer) => {
      if (limit.end(wait)) onAnswer(answer)
    })
  }

  /** Passes the item to the owner of its shard. Calls `onAnswer` once. */
  begin<Answer extends WriteAnswer>(
    item: CarriedItem,
    onAnswer: (answer: Exclude<Answer, Unstorable> | RefusedWrite) => void,
  ): void {
    const { own, forwarder, isDraining } = this.#parts
    if (isDraining()) {
      onAnswer(notOwned())
      return
    }
    // If writes of the key are already being forwarded, this one must follow them to keep their order.
    if (forwarder?.holds(keyOfItem(item).uuid) === true) {
      forwarder.carry(item, (result) => onAnswer(toldOf<Answer>(result)))
      return
    }
    own.begin(item, (answer) => {
      if (typeof answer !== "string") onAnswer(toldOf<Answer>(answer))
      else if (answer === "overloaded") onAnswer(new TooManyWrites({ retryAfterMs }))
      else if (forwarder !== undefined && !isDraining()) {
        forwarder.carry(item, (result) => onAnswer(toldOf<Answer>(result)), {
          mayBeDone: answer === "unknown",
        })
      } else onAnswer(answer === "notWritten" ? notOwned() : lost())
    })
  }

  /** Makes one write and waits for its answer. */
  answerOf<Answer extends WriteAnswer>(
    make: () => CarriedItem,
  ): Effect.Effect<Exclude<Answer, Unstorable>, RefusedWrite> {
    return Effect.callback<Exclude<Answer, Unstorable>, RefusedWrite>((resume) =>
      this.beginInTime<Answer>(make(), (given) =>
        resume("_tag" in given ? Effect.fail(given) : Effect.succeed(given)),
      ),
    )
  }

  /**
   * Makes one write for each command. Each gets its own answer or refusal, in order. A thousand writes take some milliseconds
   * of the thread, so they begin in slices. If the caller is interrupted or its time is over, the rest does not begin: the caller
   * may write these keys again, and an old write must not follow a new one.
   */
  answersOf<Answer extends WriteAnswer, Command>(
    commands: ReadonlyArray<Command>,
    make: (command: Command) => CarriedItem,
  ): Effect.Effect<ReadonlyArray<Exclude<Answer, Unstorable> | RefusedWrite>> {
    return Effect.suspend(() => {
      if (commands.length === 0) return Effect.succeed([])
      // Writes without an answer share their errors, because making an error costs more than a create.
      const unanswered = late()
      const answers = new Array<Exclude<Answer, Unstorable> | RefusedWrite>(commands.length).fill(notBegun)
      let missing = commands.length
      const isOver = Latch.makeUnsafe(false)
      const wait = this.#limit?.begin(() => isOver.openUnsafe())
      const begin = (command: Command, index: number): void => {
        answers[index] = unanswered
        this.begin<Answer>(make(command), (answer) => {
          answers[index] = answer
          if (--missing > 0) return
          if (wait !== undefined) this.#limit?.end(wait)
          isOver.openUnsafe()
        })
      }
      // The slices go on until the end of the race.
      return Effect.raceFirst(Effect.andThen(mapInSlices(commands, begin), isOver.await), isOver.await).pipe(
        Effect.onInterrupt(() =>
          Effect.sync(() => {
            if (wait !== undefined) this.#limit?.end(wait)
          }),
        ),
        // A copy: callers must not see answers that arrive after the time limit.
        Effect.map(() => [...answers]),
      )
    })
  }
}

/** What the caller gets. Each item gets an answer of its own kind. */
const toldOf = <Answer extends WriteAnswer>(
  result: CarriedResult,
): Exclude<Answer, Unstorable> | RefusedWrite => {
  if ("_tag" in result) return result
  if (result.result === "unstorable") return unstorable(result)
  return result.result === "unknown" ? untold() : (result as Exclude<Answer, Unstorable>)
}

const unstorable = ({ reason, isUnreadable }: Unstorable): TimerUnstorable | TimerUnreadable =>
  isUnreadable === true ? new TimerUnreadable({ reason }) : new TimerUnstorable({ reason })

const notOwned = (): NoOwner =>
  new NoOwner({ message: "this process does not own the timer's shard now", retryAfterMs })

const lost = (): NoOwner =>
  new NoOwner({
    message: "this process lost the timer's shard before the write was confirmed",
    retryAfterMs,
    mayBeDone: true,
  })

const untold = (): NoOwner =>
  new NoOwner({
    message: "the store failed, and it is unknown whether the write was stored",
    retryAfterMs,
    mayBeDone: true,
  })

const notBegun = new NoOwner({ message: "the service had no time to begin the write", retryAfterMs })

const late = (): NoOwner =>
  new NoOwner({
    message: "the store did not confirm the write in time",
    retryAfterMs,
    mayBeDone: true,
  })
