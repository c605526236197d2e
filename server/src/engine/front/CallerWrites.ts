// How a write that was asked for here is handed to the owner of its shard, this node or another, and how its caller gets
// one answer in bounded time.
import { Effect } from "effect"
import { keyOfItem, type Unstorable, type WriteAnswer } from "../../domain/WriteItem.ts"
import type { CarriedItem } from "../../ports/Peers.ts"
import type { CarriedResult } from "../forwarding/CarriedWrite.ts"
import type { Forwarder } from "../forwarding/Forwarder.ts"
import { type OwnWrites, retryAfterMs } from "../writing/OwnWrites.ts"
import {
  NoOwner,
  type RefusedWrite,
  TimerUnreadable,
  TimerUnstorable,
  TooManyWrites,
} from "./RefusedWrite.ts"

export interface CallerWritesParts {
  readonly own: Pick<OwnWrites, "put">
  /** Absent where one process has the store to itself. */
  readonly forwarder: Pick<Forwarder, "holds" | "carry"> | undefined
  /** The process is stopping: nothing new is taken. */
  readonly isDraining: () => boolean
}

/** From the receipt of a write to its answer, whoever does it; a little more than the forwarder takes by itself. */
const ownAnswerWithinMs = 5_500

export class CallerWrites {
  readonly #parts: CallerWritesParts

  constructor(parts: CallerWritesParts) {
    this.#parts = parts
  }

  /** Hands the item to the owner of its shard; answers once. */
  begin<Answer extends WriteAnswer>(
    item: CarriedItem,
    onAnswer: (answer: Exclude<Answer, Unstorable> | RefusedWrite) => void,
  ): void {
    const { own, forwarder, isDraining } = this.#parts
    const settle = (result: CarriedResult): void => {
      if ("_tag" in result) onAnswer(result)
      else if (result.result === "unstorable") onAnswer(unstorable(result))
      else if (result.result === "unknown") onAnswer(untold())
      // Each item is answered with an answer of its own kind.
      else onAnswer(result as Exclude<Answer, Unstorable>)
    }
    if (isDraining()) {
      settle(notOwned())
      return
    }
    // Behind what is on its way already, so that the writes of a key keep their order.
    if (forwarder?.holds(keyOfItem(item).uuid) === true) {
      forwarder.carry(item, settle)
      return
    }
    own.put(item, (answer) => {
      if (answer.kind === "answered") settle(answer.answer)
      else if (answer.kind === "overloaded") settle(new TooManyWrites({ retryAfterMs: answer.retryAfterMs }))
      else if (forwarder !== undefined && !isDraining()) {
        forwarder.carry(item, settle, { mayBeDone: answer.kind === "unknown" })
      } else settle(answer.kind === "notOwner" ? notOwned() : lost())
    })
  }

  /** One write, made when it is asked for, begun and waited for. */
  answerOf<Answer extends WriteAnswer>(
    make: () => CarriedItem,
  ): Effect.Effect<Exclude<Answer, Unstorable>, RefusedWrite> {
    return this.#inTime(
      Effect.callback<Exclude<Answer, Unstorable>, RefusedWrite>((resume) =>
        this.begin<Answer>(make(), (given) =>
          resume("_tag" in given ? Effect.fail(given) : Effect.succeed(given)),
        ),
      ),
      () => Effect.fail(late()),
    )
  }

  /** One write for each of the commands, begun together; each gets its own answer or refusal, in order. */
  answersOf<Answer extends WriteAnswer, Command>(
    commands: ReadonlyArray<Command>,
    make: (command: Command) => CarriedItem,
  ): Effect.Effect<ReadonlyArray<Exclude<Answer, Unstorable> | RefusedWrite>> {
    // One for all that have no answer yet: an error takes longer to make than a create.
    const notYet = late()
    const answers = commands.map((): Exclude<Answer, Unstorable> | RefusedWrite => notYet)
    const all = Effect.callback<typeof answers>((resume) => {
      let missing = commands.length
      if (missing === 0) resume(Effect.succeed(answers))
      commands.forEach((command, index) => {
        this.begin<Answer>(make(command), (answer) => {
          answers[index] = answer
          if (--missing === 0) resume(Effect.succeed(answers))
        })
      })
    })
    // A copy of the answers so far: callers must not see answers that arrive after the time limit.
    return this.#inTime(all, () => Effect.sync(() => [...answers]))
  }

  /**
   * A store that does not answer this node may answer another: where there are others, the caller is told in time to ask
   * one of them. On a store of its own there is nobody else to ask.
   */
  #inTime<A, E>(answer: Effect.Effect<A, E>, orElse: () => Effect.Effect<A, E>): Effect.Effect<A, E> {
    if (this.#parts.forwarder === undefined) return answer
    return Effect.timeoutOrElse(answer, { duration: ownAnswerWithinMs, orElse })
  }
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
    message: "the store failed meanwhile, and nothing tells any more whether it was done",
    retryAfterMs,
    mayBeDone: true,
  })

const late = (): NoOwner =>
  new NoOwner({
    message: "the store did not confirm the write in time",
    retryAfterMs,
    mayBeDone: true,
  })
