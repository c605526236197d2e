// The calls of the contract that create, read, change and cancel timers, each as a question to the scheduler.
import type { CreateManyTimers } from "@punctual/api/CreateManyTimers"
import { type CreateTimer, makeCreateTimer } from "@punctual/api/CreateTimer"
import type { DeleteManyTimers, DeleteManyTimersAnswer } from "@punctual/api/DeleteManyTimers"
import type { DeleteTimer, DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import type { GetTimer } from "@punctual/api/GetTimer"
import { invalidField, invalidRequest } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import type { CountTimers, CountTimersAnswer, ListTimers } from "@punctual/api/ListTimers"
import {
  InvalidRequest,
  type Problem,
  RevisionMismatch,
  TimerExists,
  TimerInFlight,
  TimerNotFound,
} from "@punctual/api/Problem"
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { requestParseOptions } from "@punctual/api/requestParseOptions"
import type { UpdateTimer } from "@punctual/api/UpdateTimer"
import { Effect, Result, SchemaParser } from "effect"
import type { Timer } from "../domain/Timer.ts"
import type { PutAnswer } from "../domain/WriteItem.ts"
import type { RefusedWrite } from "../engine/front/RefusedWrite.ts"
import { type CreateCommand, Scheduler, type TimerView } from "../engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { Deliverers } from "../ports/Deliverer.ts"
import type { Asked, Call, WithPayload } from "./Call.ts"
import { filterOf } from "./filterOf.ts"
import { problemOf, refuse, refuseSome } from "./problemOf.ts"
import { type CommandTerms, createCommand, updateCommand } from "./timerCommand.ts"

type CreateResult = Exclude<PutAnswer["result"], "exists">

export interface CreatedTimer {
  readonly result: CreateResult
  readonly timer: TimerView
}

/** What became of one of many: its problem if it failed. */
export type CreatedItem =
  | {
      readonly result: CreateResult
      readonly timerId: string
      readonly revision: number
      readonly fireId: string
    }
  | { readonly problem: Problem }

export interface CreatedTimers {
  readonly results: ReadonlyArray<CreatedItem>
}

export interface FoundTimer {
  readonly timer: TimerView
}

export interface TimerPage {
  readonly timers: ReadonlyArray<TimerView>
  /** Whether payloads were asked for: a store may hand them over anyway. */
  readonly includesPayload: boolean
  readonly nextCursor?: string
}

/** By the names that the contract gives its endpoints. */
export interface TimerCalls {
  readonly create: Call<WithPayload<CreateTimer>, CreatedTimer>
  /** The items are decoded one by one, as one that is not valid does not spoil the rest; each may have a payload's bytes. */
  readonly createMany: Call<CreateManyTimers, CreatedTimers>
  readonly get: Call<GetTimer, FoundTimer>
  /** A payload of null clears it. */
  readonly update: Call<ChangedTimer, FoundTimer>
  readonly delete: Call<DeleteTimer, DeleteTimerAnswer>
  readonly deleteMany: Call<DeleteManyTimers, DeleteManyTimersAnswer>
  readonly list: Call<ListTimers, TimerPage>
  readonly count: Call<CountTimers, CountTimersAnswer>
}

type ChangedTimer = Omit<UpdateTimer, "payload"> & { readonly payload?: Uint8Array | null }

export const makeTimerCalls = (
  limits: Limits,
): Effect.Effect<TimerCalls, never, Scheduler | NamespaceDirectory | Deliverers> =>
  Effect.gen(function* () {
    const scheduler = yield* Scheduler
    const { byType } = yield* Deliverers
    const directory = yield* NamespaceDirectory
    const terms: CommandTerms = {
      limits,
      targetTypes: new Set(byType.keys()),
      retryPolicyOf: (namespace) => directory.of(namespace).settings.retryPolicy ?? defaultRetryPolicy,
      plainSpecs: new Map(),
    }
    return {
      ...creating(scheduler, terms),
      ...changing(scheduler, terms),
      ...reading(scheduler, limits),
    }
  })

type Front = Scheduler["Service"]

const creating = (scheduler: Front, terms: CommandTerms): Pick<TimerCalls, "create" | "createMany"> => {
  const decodeItem = SchemaParser.decodeUnknownResult(makeCreateTimer(terms.limits), requestParseOptions)

  const itemCommand = (item: unknown, index: number, at: number): CreateCommand | InvalidRequest => {
    const pointer = `/timers/${index}`
    const decoded = decodeItem(item)
    if (Result.isFailure(decoded)) return invalidRequest(decoded.failure, pointer)
    const { payload } = decoded.success
    if (payload !== undefined && !(payload instanceof Uint8Array)) {
      throw new Error("the payload of one of many timers has come without its bytes")
    }
    return createCommand(decoded.success, { payload, at, pointer }, terms)
  }

  return {
    create: (asked) => {
      const command = createCommand(withTrace(asked), receivedAs(asked), terms)
      if (command instanceof InvalidRequest) return Effect.fail(command)
      return Effect.matchEffect(scheduler.create(command), {
        onFailure: refuse,
        onSuccess: (answer) => createdTimer(scheduler, answer),
      })
    },
    createMany: ({ body, receivedAt }) => {
      const asked = body.timers.map((item, index) => itemCommand(item, index, receivedAt))
      const commands = asked.filter((item): item is CreateCommand => !(item instanceof InvalidRequest))
      return Effect.map(scheduler.createMany(commands), (answers) => {
        let answered = 0
        const results = asked.map((item): CreatedItem => {
          if (item instanceof InvalidRequest) return { problem: item }
          const answer = answers[answered++]
          if (answer === undefined) throw new Error("the scheduler left a create without an answer")
          return createdItem(answer)
        })
        return { results }
      })
    },
  }
}

/** What was armed just now is pending, as it was stored; what was there already may be on its way. */
const createdTimer = (scheduler: Front, answer: PutAnswer): Effect.Effect<CreatedTimer, Problem> => {
  const { result } = answer
  if (result === "exists") return Effect.fail(timerExists(answer.timer))
  if (result === "alreadyFinished") {
    const { life } = answer
    return Effect.succeed({ result, timer: { state: life.state, life } })
  }
  const { timer } = answer
  if (result !== "unchanged") return Effect.succeed({ result, timer: { state: "pending", timer } })
  return Effect.map(scheduler.isInFlight(timer), (isInFlight) => ({
    result,
    timer: { state: isInFlight ? "inFlight" : "pending", timer },
  }))
}

const createdItem = (answer: PutAnswer | RefusedWrite): CreatedItem => {
  if ("_tag" in answer) return { problem: problemOf(answer) }
  const { result } = answer
  if (result === "exists") return { problem: timerExists(answer.timer) }
  const { timerId, revision, fireId } = result === "alreadyFinished" ? answer.life : answer.timer
  return { result, timerId, revision, fireId }
}

const changing = (
  scheduler: Front,
  terms: CommandTerms,
): Pick<TimerCalls, "update" | "delete" | "deleteMany"> => ({
  update: (asked) => {
    const command = updateCommand(asked.body, receivedAs(asked), terms)
    if (command instanceof InvalidRequest) return Effect.fail(command)
    return Effect.matchEffect(scheduler.update(command), {
      onFailure: refuse,
      onSuccess: (answer): Effect.Effect<FoundTimer, Problem> => {
        switch (answer.result) {
          case "changed":
            return Effect.succeed({ timer: { state: "pending", timer: answer.timer } })
          case "revisionMismatch":
            return Effect.fail(revisionMismatch(answer.revision))
          case "inFlight":
            return Effect.fail(timerInFlight())
          case "notFound":
            return Effect.fail(timerNotFound("pending "))
        }
      },
    })
  },
  delete: ({ body }) =>
    Effect.matchEffect(scheduler.cancel(body.namespace, body.timerId, body.ifRevision), {
      onFailure: refuse,
      onSuccess: (answer): Effect.Effect<DeleteTimerAnswer, Problem> => {
        switch (answer.result) {
          case "notFound":
            return Effect.fail(timerNotFound(""))
          case "revisionMismatch":
            return Effect.fail(revisionMismatch(answer.revision))
          default:
            return Effect.succeed({ result: answer.result })
        }
      },
    }),
  deleteMany: ({ body }) =>
    Effect.matchEffect(scheduler.cancelMany(body.namespace, filterOf(body.filter ?? {})), {
      onFailure: (error) => refuseSome(error, "cancelled"),
      onSuccess: ({ cancelled, inFlight, more }) =>
        Effect.succeed({ cancelled, inFlight, ...(more ? { more } : {}) }),
    }),
})

const reading = (scheduler: Front, limits: Limits): Pick<TimerCalls, "get" | "list" | "count"> => ({
  get: ({ body }) =>
    Effect.matchEffect(scheduler.get(body.namespace, body.timerId), {
      onFailure: refuse,
      onSuccess: (timer) =>
        timer === undefined ? Effect.fail(timerNotFound("")) : Effect.succeed({ timer }),
    }),
  list: ({ body }) => {
    const includesPayload = body.include?.includes("payload") ?? false
    const page = scheduler.list({
      namespace: body.namespace,
      state: body.state ?? "pending",
      ...filterOf(body),
      reversed: body.order !== undefined && body.order !== naturalOrder(body),
      includePayload: includesPayload,
      limit: body.limit ?? limits.listPageDefault,
      ...(body.cursor === undefined ? {} : { cursor: body.cursor }),
    })
    return Effect.matchEffect(page, {
      onFailure: (error) => (error._tag === "InvalidCursor" ? Effect.fail(invalidCursor()) : refuse(error)),
      onSuccess: ({ timers, next }) =>
        Effect.succeed({ timers, includesPayload, ...(next === undefined ? {} : { nextCursor: next }) }),
    })
  },
  count: ({ body }) =>
    Effect.catch(
      scheduler.count({ namespace: body.namespace, state: body.state ?? "pending", ...filterOf(body) }),
      refuse,
    ),
})

const receivedAs = <Payload>({ body, receivedAt }: Asked<{ readonly payload?: Payload }>) => ({
  payload: body.payload ?? undefined,
  at: receivedAt,
  pointer: "",
})

/** The trace of the request, unless the body names one. */
const withTrace = ({ body, traceparent }: Asked<WithPayload<CreateTimer>>): WithPayload<CreateTimer> =>
  traceparent === undefined || body.traceparent !== undefined ? body : { ...body, traceparent }

const timerExists = (timer: Timer): TimerExists =>
  new TimerExists({ detail: `A timer with this id is pending, at revision ${timer.revision}.` })

const timerInFlight = (): TimerInFlight =>
  new TimerInFlight({ detail: "An attempt is under way: it cannot be changed until that has ended." })

const timerNotFound = (which: string): TimerNotFound =>
  new TimerNotFound({ detail: `The namespace has no ${which}timer with this id.` })

const revisionMismatch = (currentRevision: number): RevisionMismatch =>
  new RevisionMismatch({
    detail: `The timer is at revision ${currentRevision}. Read it again before changing it.`,
    currentRevision,
  })

/** By id and by due time a list goes forwards; of what has finished, the latest is of most interest. */
const naturalOrder = (list: ListTimers): "asc" | "desc" =>
  list.state === undefined || list.state === "pending" || list.idPrefix !== undefined ? "asc" : "desc"

const invalidCursor = (): InvalidRequest =>
  invalidField("/cursor", "must be the nextCursor of an earlier answer to the same question")
