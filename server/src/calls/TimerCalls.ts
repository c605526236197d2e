// The calls of the contract that create, read, change and cancel timers. The scheduler carries them out.
import type { CreateManyTimers } from "@punctual/api/CreateManyTimers"
import { type CreateTimer, makeCreateTimer } from "@punctual/api/CreateTimer"
import type { DeleteManyTimers, DeleteManyTimersAnswer } from "@punctual/api/DeleteManyTimers"
import type { DeleteTimer, DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import type { GetTimer } from "@punctual/api/GetTimer"
import { errorsMax, invalidRequest } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import type { ListLives } from "@punctual/api/ListLives"
import type { CountTimers, CountTimersAnswer, ListTimers } from "@punctual/api/ListTimers"
import {
  InvalidRequest,
  type Problem,
  RevisionMismatch,
  TimerExists,
  TimerInFlight,
  TimerNotFound,
} from "@punctual/api/Problem"
import { makePlainCreate } from "@punctual/api/plainCreate"
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { requestParseOptions } from "@punctual/api/requestParseOptions"
import { shortenArrays } from "@punctual/api/shortenArrays"
import { listStates } from "@punctual/api/TimerFilter"
import type { UpdateTimer } from "@punctual/api/UpdateTimer"
import type { Caller } from "@punctual/door/Caller"
import { forbidden } from "@punctual/door/Gate"
import { Effect, Exit, Result, SchemaParser } from "effect"
import { naturalOrder } from "../domain/naturalOrder.ts"
import type { Target, Timer } from "../domain/Timer.ts"
import type { PutAnswer } from "../domain/WriteItem.ts"
import { filterOf, scopeOf } from "../engine/front/filterOf.ts"
import type { RefusedWrite } from "../engine/front/RefusedWrite.ts"
import { type CreateCommand, Scheduler, type TimerView } from "../engine/front/Scheduler.ts"
import { mapInSlices } from "../engine/mapInSlices.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { Deliverers } from "../ports/Deliverer.ts"
import type { Asked, Call, QuickForm, WithPayload } from "./Call.ts"
import { problemOf, refuse, refuseRead, refuseSome } from "./problemOf.ts"
import { selectionDetails } from "./selectionDetails.ts"
import { shownProgress } from "./shownProgress.ts"
import { shownTo } from "./shownTo.ts"
import { targetRefusal } from "./targetRefusal.ts"
import {
  type CommandTerms,
  createCommand,
  isRefusedCommand,
  type RefusedCommand,
  updateCommand,
} from "./timerCommand.ts"
import { type Warned, warningsOf } from "./warningsOf.ts"

type CreateResult = Exclude<PutAnswer["result"], "exists">

export interface CreatedTimer extends Warned {
  readonly result: CreateResult
  readonly timer: TimerView
}

/** The result of one item of createMany. */
export type CreatedItem =
  | ({
      readonly result: CreateResult
      readonly timerId: string
      readonly revision: number
      readonly fireId: string
    } & Warned)
  | { readonly problem: Problem }

export interface CreatedTimers {
  readonly results: ReadonlyArray<CreatedItem>
}

export interface FoundTimer {
  readonly timer: TimerView
}

export interface UpdatedTimer extends FoundTimer, Warned {}

export interface TimerPage {
  readonly timers: ReadonlyArray<TimerView>
  /** Whether the caller requested payloads. A store may return them in any case. */
  readonly includesPayload: boolean
  /** How many timers were examined; present if a filter has no index. */
  readonly examined?: number
  readonly nextCursor?: string
}

export interface LifePage {
  readonly lives: ReadonlyArray<TimerView>
  readonly nextCursor?: string
}

/** The names are those of the endpoints in the contract. */
export interface TimerCalls {
  readonly create: Call<WithPayload<CreateTimer>, CreatedTimer>
  /** Each item is decoded separately, because an invalid item must not affect the others. Payloads are bytes. */
  readonly createMany: Call<CreateManyTimers, CreatedTimers>
  readonly get: Call<GetTimer, FoundTimer>
  /** A payload of null clears it. */
  readonly update: Call<ChangedTimer, UpdatedTimer>
  readonly delete: Call<DeleteTimer, DeleteTimerAnswer>
  readonly deleteMany: Call<DeleteManyTimers, DeleteManyTimersAnswer>
  readonly list: Call<ListTimers, TimerPage>
  readonly count: Call<CountTimers, CountTimersAnswer>
  readonly lives: Call<ListLives, LifePage>
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
      refusalOf: targetRefusal(byType),
      retryPolicyOf: (namespace) => directory.of(namespace).settings.retryPolicy ?? defaultRetryPolicy,
      plainSpecs: new Map(),
    }
    const absenceOf: AbsenceOf = (namespace, target) => {
      if (target?.type !== "event") return undefined
      const presence = byType.get("event")?.presence
      return presence === undefined || presence.isThere(namespace)
        ? undefined
        : withoutStop(presence.absence.detail)
    }
    return {
      ...creating(scheduler, terms, absenceOf),
      ...changing(scheduler, terms, absenceOf),
      ...reading(scheduler, limits),
    }
  })

type Front = Scheduler["Service"]

/**
 * Why nobody can receive an event now. A missing handler causes no warning: a program often creates timers before it
 * sets its handlers.
 */
type AbsenceOf = (namespace: string, target: Pick<Target, "type"> | undefined) => string | undefined

/** Warnings have no full stop. */
const withoutStop = (sentence: string): string => sentence.replace(/\.$/, "")

/** How many errors of the items of one request may still be listed. */
interface ErrorRoom {
  errors: number
}

const creating = (
  scheduler: Front,
  terms: CommandTerms,
  absenceOf: AbsenceOf,
): Pick<TimerCalls, "create" | "createMany"> => {
  const readPlain = makePlainCreate(terms.limits)
  const itemSchema = makeCreateTimer(terms.limits)
  const shorten = shortenArrays(itemSchema)
  const decodeItem = SchemaParser.decodeUnknownResult(itemSchema, requestParseOptions)
  const decodeUntilError = SchemaParser.decodeUnknownResult(itemSchema, {
    ...requestParseOptions,
    errors: "first",
  })

  /** The errors of all items together are limited. Items beyond the limit have only their first error. */
  const decodedItem = (item: unknown, pointer: string, room: ErrorRoom): CreateTimer | InvalidRequest => {
    const plain = readPlain(item)
    if (plain !== undefined) return plain
    shorten(item)
    const decoded = room.errors > 1 ? decodeItem(item) : decodeUntilError(item)
    if (Result.isSuccess(decoded)) return decoded.success
    const refused = invalidRequest(decoded.failure, pointer, Math.max(1, room.errors))
    room.errors -= refused.errors.length
    return refused
  }

  const itemCommand = (
    item: unknown,
    index: number,
    { caller, receivedAt: at, traceparent }: Asked<unknown>,
    room: ErrorRoom,
  ): CreateCommand | RefusedCommand => {
    const pointer = `/timers/${index}`
    const body = decodedItem(item, pointer, room)
    if (body instanceof InvalidRequest) return body
    const { payload, namespace } = body
    if (!caller.may("timers.write", namespace)) return forbidden("timers.write", namespace)
    if (payload !== undefined && !(payload instanceof Uint8Array)) {
      throw new Error("the payload of an item of createMany is not bytes")
    }
    return createCommand(withTrace({ body, traceparent }), { payload, at, pointer }, terms)
  }

  const warned = ({ namespace, executeAt, spec }: CreateCommand, receivedAt: number): Warned =>
    warningsOf(executeAt, receivedAt, absenceOf(namespace, spec.target))

  const create = (asked: Asked<WithPayload<CreateTimer>>): Effect.Effect<CreatedTimer, Problem> => {
    const command = createCommand(withTrace(asked), receivedAs(asked), terms)
    if (isRefusedCommand(command)) return Effect.fail(command)
    return Effect.matchEffect(scheduler.create(command), {
      onFailure: refuse,
      onSuccess: (answer) => createdTimer(scheduler, answer, asked.caller, warned(command, asked.receivedAt)),
    })
  }

  const quick: QuickForm<CreatedTimer> = {
    read: readPlain,
    begin: (made, onAnswer) => {
      // `read` made the body.
      const asked = made as Asked<WithPayload<CreateTimer>>
      const command = createCommand(withTrace(asked), receivedAs(asked), terms)
      if (isRefusedCommand(command)) {
        onAnswer(Exit.fail(command))
        return true
      }
      return scheduler.createNow(command, (answer) =>
        onAnswer(
          "_tag" in answer
            ? refuse(answer)
            : createdTimer(scheduler, answer, asked.caller, warned(command, asked.receivedAt)),
        ),
      )
    },
  }

  return {
    create: Object.assign(create, { quick }),
    createMany: Effect.fnUntraced(function* (request) {
      const { body, receivedAt } = request
      const room: ErrorRoom = { errors: errorsMax }
      const asked = yield* mapInSlices(body.timers, (item, index) => itemCommand(item, index, request, room))
      const commands = asked.filter((item): item is CreateCommand => !isRefusedCommand(item))
      const answers = yield* scheduler.createMany(commands)
      let answered = 0
      const results = asked.map((item): CreatedItem => {
        if (isRefusedCommand(item)) return { problem: item }
        const answer = answers[answered++]
        if (answer === undefined) throw new Error("the scheduler left a create without an answer")
        return createdItem(answer, warned(item, receivedAt))
      })
      return { results }
    }),
  }
}

/** An existing timer that stays unchanged may be in flight. */
const createdTimer = (
  scheduler: Front,
  answer: PutAnswer,
  caller: Caller,
  warned: Warned,
): Effect.Effect<CreatedTimer, Problem> => {
  const { result } = answer
  if (result === "exists") return Effect.fail(timerExists(answer.timer))
  if (result === "alreadyFinished") {
    const { life } = answer
    return Exit.succeed({ result, timer: shownTo(caller, { state: life.state, life }) })
  }
  const { timer } = answer
  if (result !== "unchanged") {
    const view = shownTo(caller, scheduler.viewWhenArmed(timer))
    const { warnings } = warned
    return Exit.succeed(warnings === undefined ? { result, timer: view } : { result, timer: view, warnings })
  }
  return Effect.map(scheduler.viewOf(timer), (view) => ({ result, timer: shownTo(caller, view) }))
}

const createdItem = (answer: PutAnswer | RefusedWrite, warned: Warned): CreatedItem => {
  if ("_tag" in answer) return { problem: problemOf(answer) }
  const { result } = answer
  if (result === "exists") return { problem: timerExists(answer.timer) }
  const { timerId, revision, fireId } = result === "alreadyFinished" ? answer.life : answer.timer
  const item = { result, timerId, revision, fireId }
  return result === "created" || result === "replaced" ? { ...item, ...warned } : item
}

const changing = (
  scheduler: Front,
  terms: CommandTerms,
  absenceOf: AbsenceOf,
): Pick<TimerCalls, "update" | "delete" | "deleteMany"> => ({
  update: (asked) => {
    if (sendsPayloadElsewhere(asked.body) && !asked.caller.may("payload.read", asked.body.namespace)) {
      return Effect.fail(forbidden("payload.read", asked.body.namespace))
    }
    const command = updateCommand(asked.body, receivedAs(asked), terms)
    if (isRefusedCommand(command)) return Effect.fail(command)
    return Effect.matchEffect(scheduler.update(command), {
      onFailure: refuse,
      onSuccess: (answer): Effect.Effect<UpdatedTimer, Problem> => {
        switch (answer.result) {
          case "changed":
            return Effect.succeed({
              timer: shownTo(asked.caller, scheduler.viewWhenArmed(answer.timer)),
              ...warningsOf(
                command.set.executeAt,
                asked.receivedAt,
                absenceOf(asked.body.namespace, asked.body.target),
              ),
            })
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
  deleteMany: ({ body, receivedAt, note }) => {
    note?.({ about: selectionDetails(body) })
    return Effect.matchEffect(
      scheduler.cancelMany(body.namespace, filterOf(body.filter ?? {}, receivedAt), body.cursor),
      {
        onFailure: (error) => refuseSome(error, "cancelled"),
        onSuccess: (counts) => {
          note?.({ count: counts.cancelled })
          return Effect.succeed(shownProgress(counts))
        },
      },
    )
  },
})

/**
 * Whoever chooses a new target for a stored payload can read the payload there. A new `onDead` also gets the last answer of the
 * receiver, so it does not matter whether the payload is new.
 */
const sendsPayloadElsewhere = ({ target, callbackUrl, onDead, payload }: ChangedTimer): boolean =>
  (payload === undefined && (target ?? callbackUrl) !== undefined) || (onDead ?? undefined) !== undefined

const reading = (scheduler: Front, limits: Limits): Pick<TimerCalls, "get" | "list" | "count" | "lives"> => ({
  get: ({ body, caller }) =>
    Effect.matchEffect(scheduler.get(body.namespace, body.timerId), {
      onFailure: refuseRead,
      onSuccess: (timer) =>
        timer === undefined
          ? Effect.fail(timerNotFound(""))
          : Effect.succeed({ timer: shownTo(caller, timer) }),
    }),
  list: ({ body, caller, receivedAt }) => {
    const includesPayload = body.include?.includes("payload") ?? false
    const scope = scopeOf(body)
    const page = scheduler.list({
      ...scope,
      ...filterOf(body, receivedAt),
      reversed:
        body.order !== undefined &&
        body.order !== naturalOrder([scope.state].flat(), body.idPrefix !== undefined),
      includePayload: includesPayload,
      limit: body.limit ?? limits.listPageDefault,
      ...(body.cursor === undefined ? {} : { cursor: body.cursor }),
    })
    return Effect.matchEffect(page, {
      onFailure: refuseRead,
      onSuccess: ({ timers, examined, next }) =>
        Effect.succeed({
          timers: timers.map((timer) => shownTo(caller, timer)),
          includesPayload,
          ...(examined === undefined ? {} : { examined }),
          ...(next === undefined ? {} : { nextCursor: next }),
        }),
    })
  },
  count: ({ body, receivedAt }) =>
    Effect.catch(scheduler.count({ ...scopeOf(body), ...filterOf(body, receivedAt) }), refuseRead),
  lives: ({ body: { namespace, timerId, cursor, limit }, caller }) => {
    const page = scheduler.list({
      namespace,
      timerId,
      state: listStates,
      // Latest first.
      reversed: true,
      includePayload: caller.may("payload.read", namespace),
      limit: limit ?? limits.listPageDefault,
      ...(cursor === undefined ? {} : { cursor }),
    })
    return Effect.matchEffect(page, {
      onFailure: refuseRead,
      onSuccess: ({ timers, next }) =>
        Effect.succeed({
          lives: timers.map((timer) => shownTo(caller, timer)),
          ...(next === undefined ? {} : { nextCursor: next }),
        }),
    })
  },
})

const receivedAs = <Payload>({ body, receivedAt }: Asked<{ readonly payload?: Payload }>) => ({
  payload: body.payload ?? undefined,
  at: receivedAt,
  pointer: "",
})

/** The trace of the request, unless the body names one. */
const withTrace = <Body extends { readonly traceparent?: string }>({
  body,
  traceparent,
}: {
  readonly body: Body
  readonly traceparent?: string | undefined
}): Body => (traceparent === undefined || body.traceparent !== undefined ? body : { ...body, traceparent })

const timerExists = (timer: Timer): TimerExists =>
  new TimerExists({ detail: `A timer with this id is pending, at revision ${timer.revision}.` })

const timerInFlight = (): TimerInFlight =>
  new TimerInFlight({
    detail: "An attempt is in flight. The timer cannot be changed until the attempt has ended.",
  })

const timerNotFound = (which: string): TimerNotFound =>
  new TimerNotFound({ detail: `The namespace has no ${which}timer with this id.` })

const revisionMismatch = (currentRevision: number): RevisionMismatch =>
  new RevisionMismatch({
    detail: `The timer is at revision ${currentRevision}. Read it again before changing it.`,
    currentRevision,
  })
