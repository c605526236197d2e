// Calls of the contract without HTTP: a plain object goes the way of a request's body, through the same schemas and
// handlers, so that both accept and refuse the same things in the same words. Instants are Dates on this side.
import { AdvanceClock, type AdvanceClockAnswer } from "@punctual/api/AdvanceClock"
import { type CreateManyTimersAnswer, makeCreateManyTimers } from "@punctual/api/CreateManyTimers"
import { type CreateTimerAnswer, makeCreateTimer } from "@punctual/api/CreateTimer"
import { DeleteTimer, type DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import { GetTimer, type TimerAnswer } from "@punctual/api/GetTimer"
import { invalidField, invalidRequest } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import { type ListTimersAnswer, makeListTimers } from "@punctual/api/ListTimers"
import { InvalidRequest, Overloaded, type Problem } from "@punctual/api/Problem"
import { requestParseOptions } from "@punctual/api/requestParseOptions"
import { makeUpdateTimer } from "@punctual/api/UpdateTimer"
import { Effect, Result, type Schema, SchemaParser } from "effect"
import type { ApiHandler } from "../http/ApiCall.ts"
import type { ClockHandlers } from "../http/ClockHandlers.ts"
import type { TimerHandlers } from "../http/TimerHandlers.ts"

/** Fields that hold an instant, wherever they stand. */
const instantFields = [
  "executeAt",
  "fireAt",
  "at",
  "createdAt",
  "updatedAt",
  "finishedAt",
  "now",
] as const satisfies ReadonlyArray<string>

type InstantField = (typeof instantFields)[number]

/** Callers' own: nothing in there is looked at. */
type CallersField = "payload" | "target"

/** An answer of the contract with its instants as Dates. */
export type WithDates<Answer> =
  Answer extends ReadonlyArray<infer Item>
    ? ReadonlyArray<WithDates<Item>>
    : Answer extends object
      ? {
          readonly [field in keyof Answer]: field extends CallersField
            ? Answer[field]
            : field extends InstantField
              ? Date
              : WithDates<Answer[field]>
        }
      : Answer

/** A request of the contract whose instants may be Dates. */
type TakingDates<Request, Field extends keyof Request> = Omit<Request, Field> & {
  readonly [field in Field]?: Request[field] | Date
}

type Encoded<Codec extends { readonly Encoded: unknown }> = Codec["Encoded"]

export type NewTimer = TakingDates<Encoded<ReturnType<typeof makeCreateTimer>>, "executeAt">
export type TimerChange = TakingDates<Encoded<ReturnType<typeof makeUpdateTimer>>, "executeAt">
export type TimerKey = Encoded<typeof GetTimer>
export type TimerCancel = Encoded<typeof DeleteTimer>
export type TimerQuery = TakingDates<Encoded<ReturnType<typeof makeListTimers>>, "from" | "until">
export type ClockMove = TakingDates<Encoded<typeof AdvanceClock>, "to">

export interface Answers {
  readonly create: WithDates<Encoded<typeof CreateTimerAnswer>>
  readonly createMany: WithDates<Encoded<typeof CreateManyTimersAnswer>>
  readonly get: WithDates<Encoded<typeof TimerAnswer>>
  readonly update: WithDates<Encoded<typeof TimerAnswer>>
  readonly delete: Encoded<typeof DeleteTimerAnswer>
  readonly list: WithDates<Encoded<typeof ListTimersAnswer>>
  readonly advance: WithDates<Encoded<typeof AdvanceClockAnswer>>
}

export type CallName = keyof Answers

interface Call {
  readonly decode: (input: unknown) => Result.Result<unknown, Parameters<typeof invalidRequest>[0]>
  readonly handler: ApiHandler<unknown>
}

export interface ContractCallsParts {
  readonly limits: Limits
  readonly handlers: Pick<TimerHandlers & ClockHandlers, CallName>
  readonly now: () => number
}

/** How long a call may wait for the store; an advance has a bound of its own. */
const answerWithinMs = 60_000

export class ContractCalls {
  readonly #calls: { readonly [name in CallName]: Call }
  readonly #now: () => number

  constructor({ limits, handlers, now }: ContractCallsParts) {
    this.#now = now
    this.#calls = {
      create: callOf(makeCreateTimer(limits), handlers.create),
      createMany: callOf(makeCreateManyTimers(limits), handlers.createMany),
      get: callOf(GetTimer, handlers.get),
      update: callOf(makeUpdateTimer(limits), handlers.update),
      delete: callOf(DeleteTimer, handlers.delete),
      list: callOf(makeListTimers(limits), handlers.list),
      advance: callOf(AdvanceClock, handlers.advance),
    }
  }

  ask<Name extends CallName>(name: Name, request: object): Effect.Effect<Answers[Name], Problem> {
    return Effect.suspend(() => {
      const { decode, handler } = this.#calls[name]
      const text = textOf(request)
      if (text instanceof InvalidRequest) return Effect.fail(text)
      const decoded = decode(JSON.parse(text))
      if (Result.isFailure(decoded)) return Effect.fail(invalidRequest(decoded.failure))
      const answer = handler({ body: decoded.success, text, receivedAt: this.#now() })
      // What the handler answers is what the contract says that this call answers.
      const revived = Effect.map(answer, (json) => withDates(JSON.parse(json)) as Answers[Name])
      return name === "advance"
        ? revived
        : Effect.timeoutOrElse(revived, { duration: answerWithinMs, orElse: () => Effect.fail(unanswered()) })
    })
  }
}

const callOf = <Body>(schema: Schema.Codec<Body, unknown>, handler: ApiHandler<Body>): Call => ({
  decode: SchemaParser.decodeUnknownResult(schema, requestParseOptions),
  // It is given what its own schema has decoded.
  handler: handler as ApiHandler<unknown>,
})

/** Dates write themselves as instants, and what is undefined is left out. */
const textOf = (request: object): string | InvalidRequest => {
  try {
    return JSON.stringify(request)
  } catch (error) {
    return invalidField("", `cannot be written as JSON: ${error instanceof Error ? error.message : error}`)
  }
}

const withDates = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withDates)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      if (field === "payload" || field === "target") return [field, inner]
      return [field, isInstantField(field) ? new Date(inner) : withDates(inner)]
    }),
  )
}

const isInstantField = (field: string): boolean => (instantFields as ReadonlyArray<string>).includes(field)

const unanswered = (): Problem =>
  new Overloaded({
    detail: "The store has not answered in time. It is not known whether this was done: repeat the call.",
    retryAfterSeconds: 5,
  })
