// Calls of the contract for a program. The schemas that check the body of an HTTP request also check the plain object
// of a program, and the same calls carry it out. So a program and HTTP accept and refuse the same requests in the same
// words.
import type { NeededAction } from "@punctual/api/CallTerms"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { invalidField, invalidRequest } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import { InvalidRequest, type Problem, toProblemDocument } from "@punctual/api/Problem"
import { ownProgram } from "@punctual/door/Caller"
import { Effect, Result, type SchemaIssue } from "effect"
import type { AnswerOf, ByEndpoint, Call } from "../calls/Call.ts"
import { type Calls, callOf } from "../calls/Calls.ts"
import { unanswered, usualAnswerMs } from "../calls/problemOf.ts"
import type { PayloadForm } from "./PayloadForm.ts"
import { type Answers, type CallName, instantFields, plainFields } from "./Requests.ts"
import { shownTimer } from "./shownTimer.ts"

export interface ProgramCallsParts {
  readonly limits: Limits
  readonly calls: Calls
  readonly payloads: PayloadForm
  readonly now: () => number
}

interface ProgramCall {
  readonly decode: (input: unknown) => Result.Result<unknown, SchemaIssue.Issue>
  readonly call: Call<unknown, unknown>
  /** Converts the answer for the program. */
  readonly show: (answer: unknown) => unknown
  /** The call declares its own time limit and ends by itself. */
  readonly endsByItself: boolean
  readonly action: NeededAction
}

export class ProgramCalls {
  readonly #calls: ReadonlyMap<string, ProgramCall>
  readonly #payloads: PayloadForm
  readonly #now: () => number

  constructor({ limits, calls, payloads, now }: ProgramCallsParts) {
    this.#payloads = payloads
    this.#now = now
    const shows: ByEndpoint<(answer: never) => unknown> = timerShows(payloads)
    this.#calls = new Map(
      contractEndpoints(limits).map((endpoint) => {
        const { group, name, decode, encode } = endpoint
        const show = shows[group]?.[name] ?? ((answer: unknown) => withDates(encode(answer)))
        const made: ProgramCall = {
          decode,
          call: callOf(calls, endpoint),
          // Each gets the answer of its own call.
          show: show as ProgramCall["show"],
          endsByItself: endpoint.answerWithinMs !== undefined,
          action: endpoint.action,
        }
        return [`${group}.${name}`, made]
      }),
    )
  }

  ask<Name extends CallName>(name: Name, request: unknown): Effect.Effect<Answers[Name], Problem> {
    return Effect.suspend(() => {
      const asked = this.#calls.get(name)
      if (asked === undefined) throw new Error(`the contract has no call ${name}`)
      const input = this.#inputOf(name, request)
      if (input instanceof InvalidRequest) return Effect.fail(input)
      const decoded = asked.decode(input)
      if (Result.isFailure(decoded)) return Effect.fail(invalidRequest(decoded.failure))
      const answer = Effect.map(
        asked.call({ body: decoded.success, caller: ownProgram, receivedAt: this.#now() }),
        // The result has the type that the contract defines for this call.
        (answered) => asked.show(answered) as Answers[Name],
      )
      return asked.endsByItself
        ? answer
        : Effect.timeoutOrElse(answer, {
            duration: usualAnswerMs,
            orElse: () => Effect.fail(unanswered(asked.action)),
          })
    })
  }

  /** The input of the schema: JSON values, except for payloads, which are bytes. */
  #inputOf(name: CallName, request: unknown): unknown {
    switch (name) {
      case "timers.create":
        return this.#timerInput(request, "")
      case "timers.update":
        // null clears the payload.
        return isObject(request) && request["payload"] === null
          ? plain(request, "")
          : this.#timerInput(request, "")
      case "timers.createMany":
        return this.#timerInputs(request)
      default:
        return plain(request, "")
    }
  }

  #timerInputs(request: unknown): unknown {
    if (!isObject(request) || !Array.isArray(request["timers"])) return plain(request, "")
    const timers: Array<unknown> = []
    for (const [index, timer] of request["timers"].entries()) {
      const input = this.#timerInput(timer, `/timers/${index}`)
      if (input instanceof InvalidRequest) return input
      timers.push(input)
    }
    return { timers }
  }

  #timerInput(request: unknown, pointer: string): unknown {
    if (!isObject(request)) return plain(request, pointer)
    const { payload, ...rest } = request
    const input = plain(rest, pointer)
    if (!isObject(input) || input instanceof InvalidRequest) return input
    try {
      const bytes = this.#payloads.bytesOf(payload)
      return bytes === undefined ? input : { ...input, payload: bytes }
    } catch (error) {
      return invalidField(`${pointer}/payload`, reasonOf(error))
    }
  }
}

type Shows<Group> = { readonly [name in keyof Group]?: (answer: AnswerOf<Group[name]>) => unknown }

/** Converts answers with timers, which have the form of the store. All other answers have the form of the contract. */
const timerShows = (payloads: PayloadForm): { readonly timers: Shows<Calls["timers"]> } => ({
  timers: {
    create: ({ result, timer, ...warned }) => ({ result, timer: shownTimer(timer, undefined), ...warned }),
    createMany: ({ results }) => ({
      results: results.map((item) =>
        "problem" in item ? { problem: toProblemDocument(item.problem) } : item,
      ),
    }),
    get: ({ timer }) => ({ timer: shownTimer(timer, payloads) }),
    update: ({ timer, ...warned }) => ({ timer: shownTimer(timer, undefined), ...warned }),
    list: ({ timers, includesPayload, examined, nextCursor }) => ({
      timers: timers.map((timer) => shownTimer(timer, includesPayload ? payloads : undefined)),
      ...(examined === undefined ? {} : { examined }),
      ...(nextCursor === undefined ? {} : { nextCursor }),
    }),
    lives: ({ lives, nextCursor }) => ({
      lives: lives.map((timer) => shownTimer(timer, payloads)),
      ...(nextCursor === undefined ? {} : { nextCursor }),
    }),
  },
})

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Converts a request to JSON values: Dates become instants, and undefined fields are left out. */
const plain = (request: unknown, pointer: string): unknown => {
  try {
    return JSON.parse(JSON.stringify(request) ?? "null")
  } catch (error) {
    return invalidField(pointer, `cannot be written as JSON: ${reasonOf(error)}`)
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const withDates = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withDates)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [
      field,
      isInstantField(field) && typeof inner === "string"
        ? new Date(inner)
        : isPlainField(field)
          ? inner
          : withDates(inner),
    ]),
  )
}

const isPlainField = (field: string): boolean => (plainFields as ReadonlyArray<string>).includes(field)

const isInstantField = (field: string): boolean => (instantFields as ReadonlyArray<string>).includes(field)
