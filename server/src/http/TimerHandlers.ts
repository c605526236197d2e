// The calls of the contract, each as a question to the scheduler and the text of its answer.

import type { CreateManyTimers } from "@punctual/api/CreateManyTimers"
import { type CreateTimer, makeCreateTimer } from "@punctual/api/CreateTimer"
import type { DeleteManyTimers } from "@punctual/api/DeleteManyTimers"
import type { DeleteTimer } from "@punctual/api/DeleteTimer"
import type { GetTimer } from "@punctual/api/GetTimer"
import { invalidField, invalidRequest } from "@punctual/api/invalidRequest"
import { elementSpans, type JsonSpan, memberSpan } from "@punctual/api/JsonSpan"
import type { Limits } from "@punctual/api/Limits"
import type { CountTimers, ListTimers } from "@punctual/api/ListTimers"
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
import { type CreateCommand, type RefusedWrite, Scheduler } from "../engine/front/Scheduler.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { Deliverers } from "../ports/Deliverer.ts"
import type { ListFilter } from "../ports/TimerStore.ts"
import type { ApiCall, ApiHandler } from "./ApiCall.ts"
import { problemJson } from "./problemResponse.ts"
import { refusal, refuse, refuseSome } from "./refusal.ts"
import { finishedJson, pendingJson, timerJson } from "./TimerJson.ts"
import { type CommandTerms, createCommand, updateCommand } from "./timerCommand.ts"

/** By the names that the contract gives its endpoints. */
export interface TimerHandlers {
  readonly create: ApiHandler<CreateTimer>
  readonly createMany: ApiHandler<CreateManyTimers>
  readonly get: ApiHandler<GetTimer>
  readonly update: ApiHandler<UpdateTimer>
  readonly delete: ApiHandler<DeleteTimer>
  readonly deleteMany: ApiHandler<DeleteManyTimers>
  readonly list: ApiHandler<ListTimers>
  readonly count: ApiHandler<CountTimers>
}

export const makeTimerHandlers = (
  limits: Limits,
): Effect.Effect<TimerHandlers, never, Scheduler | NamespaceDirectory | Deliverers> =>
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

type Asked = Scheduler["Service"]

const creating = (scheduler: Asked, terms: CommandTerms) => {
  const decodeItem = SchemaParser.decodeUnknownResult(makeCreateTimer(terms.limits), requestParseOptions)

  const create: ApiHandler<CreateTimer> = (call) => {
    const command = createCommand(call.body, receivedAs(call, payloadSpan(call)), terms)
    if (command instanceof InvalidRequest) return Effect.fail(command)
    return Effect.matchEffect(scheduler.create(command), {
      onFailure: refuse,
      onSuccess: (answer) =>
        answer.result === "exists"
          ? Effect.fail(timerExists(answer.timer))
          : Effect.map(
              createdJson(scheduler, answer),
              (timer) => `{"result":"${answer.result}","timer":${timer}}`,
            ),
    })
  }

  const itemCommand = (
    item: unknown,
    index: number,
    call: ApiCall<CreateManyTimers>,
    payload: JsonSpan | undefined,
  ): CreateCommand | InvalidRequest => {
    const pointer = `/timers/${index}`
    const decoded = decodeItem(item)
    return Result.isFailure(decoded)
      ? invalidRequest(decoded.failure, pointer)
      : createCommand(decoded.success, { ...receivedAs(call, payload), pointer }, terms)
  }

  const createMany: ApiHandler<CreateManyTimers> = (call) => {
    const payloads = elementSpans(call.text, "timers", "payload")
    const asked = call.body.timers.map((item, index) => itemCommand(item, index, call, payloads[index]))
    const commands = asked.filter((item): item is CreateCommand => !(item instanceof InvalidRequest))
    return Effect.map(scheduler.createMany(commands), (answers) => {
      let answered = 0
      const results = asked.map((item) => {
        if (item instanceof InvalidRequest) return `{"problem":${problemJson(item)}}`
        const answer = answers[answered++]
        if (answer === undefined) throw new Error("the scheduler left a create without an answer")
        return itemJson(answer)
      })
      return `{"results":[${results.join(",")}]}`
    })
  }

  return { create, createMany }
}

const changing = (scheduler: Asked, terms: CommandTerms) => {
  const update: ApiHandler<UpdateTimer> = (call) => {
    const command = updateCommand(call.body, receivedAs(call, payloadSpan(call)), terms)
    if (command instanceof InvalidRequest) return Effect.fail(command)
    return Effect.matchEffect(scheduler.update(command), {
      onFailure: refuse,
      onSuccess: (answer): Effect.Effect<string, Problem> => {
        switch (answer.result) {
          case "changed":
            return Effect.succeed(`{"timer":${pendingJson(answer.timer, "pending", false)}}`)
          case "revisionMismatch":
            return Effect.fail(revisionMismatch(answer.revision))
          case "inFlight":
            return Effect.fail(
              new TimerInFlight({
                detail: "An attempt is under way: it cannot be changed until that has ended.",
              }),
            )
          case "notFound":
            return Effect.fail(timerNotFound("pending "))
        }
      },
    })
  }

  const cancel: ApiHandler<DeleteTimer> = ({ body }) =>
    Effect.matchEffect(scheduler.cancel(body.namespace, body.timerId, body.ifRevision), {
      onFailure: refuse,
      onSuccess: (answer): Effect.Effect<string, Problem> =>
        answer.result === "notFound"
          ? Effect.fail(timerNotFound(""))
          : answer.result === "revisionMismatch"
            ? Effect.fail(revisionMismatch(answer.revision))
            : Effect.succeed(`{"result":"${answer.result}"}`),
    })

  const deleteMany: ApiHandler<DeleteManyTimers> = ({ body }) =>
    Effect.matchEffect(scheduler.cancelMany(body.namespace, filterOf(body.filter ?? {})), {
      onFailure: (error) => refuseSome(error, "cancelled"),
      onSuccess: ({ cancelled, inFlight, more }) =>
        Effect.succeed(JSON.stringify({ cancelled, inFlight, ...(more ? { more: true } : {}) })),
    })

  return { update, delete: cancel, deleteMany }
}

const reading = (scheduler: Asked, limits: Limits) => {
  const get: ApiHandler<GetTimer> = ({ body }) =>
    Effect.matchEffect(scheduler.get(body.namespace, body.timerId), {
      onFailure: refuse,
      onSuccess: (view) =>
        view === undefined
          ? Effect.fail(timerNotFound(""))
          : Effect.succeed(`{"timer":${timerJson(view, true)}}`),
    })

  const list: ApiHandler<ListTimers> = ({ body }) => {
    const state = body.state ?? "pending"
    const includePayload = body.include?.includes("payload") ?? false
    const page = scheduler.list({
      namespace: body.namespace,
      state,
      ...filterOf(body),
      reversed: body.order !== undefined && body.order !== naturalOrder(body),
      includePayload,
      limit: body.limit ?? limits.listPageDefault,
      ...(body.cursor === undefined ? {} : { cursor: body.cursor }),
    })
    return Effect.matchEffect(page, {
      onFailure: (error) => (error._tag === "InvalidCursor" ? Effect.fail(invalidCursor()) : refuse(error)),
      onSuccess: ({ timers, next }) => {
        const shown = timers.map((view) => timerJson(view, includePayload)).join(",")
        const cursor = next === undefined ? "" : `,"nextCursor":${JSON.stringify(next)}`
        return Effect.succeed(`{"timers":[${shown}]${cursor}}`)
      },
    })
  }

  const count: ApiHandler<CountTimers> = ({ body }) => {
    const counted = scheduler.count({
      namespace: body.namespace,
      state: body.state ?? "pending",
      ...filterOf(body),
    })
    return Effect.matchEffect(counted, {
      onFailure: refuse,
      onSuccess: (answer) => Effect.succeed(JSON.stringify(answer)),
    })
  }

  return { get, list, count }
}

const payloadSpan = (call: ApiCall<{ readonly payload?: unknown }>): JsonSpan | undefined =>
  call.body.payload === undefined ? undefined : memberSpan(call.text, "payload")

const receivedAs = (call: ApiCall<unknown>, payload: JsonSpan | undefined) => ({
  text: call.text,
  payload,
  at: call.receivedAt,
  pointer: "",
})

export const filterOf = (filter: {
  readonly from?: number
  readonly until?: number
  readonly idPrefix?: string
  readonly correlationId?: string
  readonly tag?: string
}): ListFilter => ({
  ...(filter.from === undefined ? {} : { inclusiveFromMs: filter.from }),
  ...(filter.until === undefined ? {} : { exclusiveUntilMs: filter.until }),
  ...(filter.idPrefix === undefined ? {} : { idPrefix: filter.idPrefix }),
  ...(filter.correlationId === undefined ? {} : { correlationId: filter.correlationId }),
  ...(filter.tag === undefined ? {} : { tag: filter.tag }),
})

/** What was armed just now is pending, as it was stored; what was there already may be on its way. */
const createdJson = (scheduler: Asked, answer: PutAnswer): Effect.Effect<string> => {
  if (answer.result === "alreadyFinished") {
    return Effect.succeed(finishedJson(answer.life, answer.life.state, false))
  }
  const { timer } = answer
  if (answer.result !== "unchanged") return Effect.succeed(pendingJson(timer, "pending", false))
  return Effect.map(scheduler.isInFlight(timer), (isInFlight) =>
    pendingJson(timer, isInFlight ? "inFlight" : "pending", false),
  )
}

const itemJson = (answer: PutAnswer | RefusedWrite): string => {
  if ("_tag" in answer) return `{"problem":${problemJson(refusal(answer))}}`
  if (answer.result === "exists") return `{"problem":${problemJson(timerExists(answer.timer))}}`
  const { timerId, revision, fireId } = answer.result === "alreadyFinished" ? answer.life : answer.timer
  return (
    `{"result":"${answer.result}","timerId":${JSON.stringify(timerId)},"revision":${revision}` +
    `,"fireId":${JSON.stringify(fireId)}}`
  )
}

const timerExists = (timer: Timer): TimerExists =>
  new TimerExists({ detail: `A timer with this id is pending, at revision ${timer.revision}.` })

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
