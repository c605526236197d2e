// Checks quotas before the scheduler: creates in a namespace with quotas must pass them first. Writes that another node
// forwards here have already passed the quotas there.
import { Cause, Effect, Exit, Result } from "effect"
import type { PutAnswer, ScheduleAnswer } from "../../domain/WriteItem.ts"
import { type Admission, type AskedCreate, type Quotas, QuotaUsedUp } from "../namespaces/Quotas.ts"
import type { RefusedWrite } from "./RefusedWrite.ts"
import type { CreateCommand, Scheduler } from "./Scheduler.ts"

type Answer = PutAnswer | ScheduleAnswer

export const withQuotas = (
  scheduler: Scheduler["Service"],
  quotas: Pick<Quotas, "covers" | "admit">,
): Scheduler["Service"] => {
  const gated = <A extends Answer>(
    asked: AskedCreate,
    write: Effect.Effect<A, RefusedWrite>,
  ): Effect.Effect<A, RefusedWrite> => {
    if (!quotas.covers(asked.namespace)) return write
    return admitting(quotas, [asked], ([admission = "free"], restore) =>
      admission instanceof QuotaUsedUp
        ? Effect.fail(admission)
        : Effect.onExit(restore(write), (exit) => Effect.sync(() => tell(admission, exitMayBePending(exit)))),
    )
  }
  return {
    ...scheduler,
    create: (command) => gated(command, scheduler.create(command)),
    createNow: (command, onAnswer) =>
      !quotas.covers(command.namespace) && scheduler.createNow(command, onAnswer),
    schedule: (command) => gated(command, scheduler.schedule(command)),
    createMany: (commands) =>
      commands.some(({ namespace }) => quotas.covers(namespace))
        ? admitting(quotas, commands, (admissions, restore) =>
            createAdmitted(scheduler, commands, admissions, restore),
          )
        : scheduler.createMany(commands),
  }
}

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** Every admission gets the result of its write, even if the caller stops waiting. Otherwise it would count forever. */
const admitting = <A, E>(
  quotas: Pick<Quotas, "admit">,
  asked: ReadonlyArray<AskedCreate>,
  then: (admissions: ReadonlyArray<Admission | QuotaUsedUp>, restore: Restore) => Effect.Effect<A, E>,
): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(quotas.admit(asked)), (admissions) => then(admissions, restore)),
  )

/** Creates the admitted timers in order. Each command has its answer or refusal at its own index. */
const createAdmitted = (
  scheduler: Scheduler["Service"],
  commands: ReadonlyArray<CreateCommand>,
  admissions: ReadonlyArray<Admission | QuotaUsedUp>,
  restore: Restore,
): Effect.Effect<ReadonlyArray<PutAnswer | RefusedWrite>> => {
  const isAdmitted = (_: unknown, index: number) => !(admissions[index] instanceof QuotaUsedUp)
  const written = restore(scheduler.createMany(commands.filter(isAdmitted)))
  return Effect.map(
    Effect.onExit(written, (exit) => Effect.sync(() => tellAll(admissions, exit))),
    (answers) => {
      let answered = 0
      return admissions.flatMap((admission) => {
        if (admission instanceof QuotaUsedUp) return [admission]
        const answer = answers[answered++]
        return answer === undefined ? [] : [answer]
      })
    },
  )
}

const tellAll = (
  admissions: ReadonlyArray<Admission | QuotaUsedUp>,
  exit: Exit.Exit<ReadonlyArray<PutAnswer | RefusedWrite>>,
): void => {
  let answered = 0
  for (const admission of admissions) {
    if (admission instanceof QuotaUsedUp) continue
    const answer = Exit.isSuccess(exit) ? exit.value[answered++] : undefined
    tell(admission, answer === undefined || mayBePending(answer))
  }
}

const tell = (admission: Admission, isPerhapsPending: boolean): void => {
  if (admission !== "free") admission.noteAnswer(isPerhapsPending)
}

const exitMayBePending = (exit: Exit.Exit<Answer, RefusedWrite>): boolean => {
  if (Exit.isSuccess(exit)) return mayBePending(exit.value)
  const refused = Cause.findError(exit.cause)
  return Result.isFailure(refused) || mayBePending(refused.success)
}

/** Whether the create may have added a pending timer. */
const mayBePending = (answer: Answer | RefusedWrite): boolean =>
  "_tag" in answer ? answer._tag === "NoOwner" && answer.mayBeDone === true : answer.result === "created"
