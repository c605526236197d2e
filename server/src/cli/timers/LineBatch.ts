// A batch of lines of a file, sent with createMany until each line has a result. The batch retries after a wait if the
// service cannot accept the lines now (429, 503) or does not answer. Every line has an id and an instant, so a repeat
// changes nothing. But a repeat of a line with `onExisting: "fail"` may find the timer that its first try stored. Such a
// line is uncertain. The batch continues while it makes progress, and gives up after some tries without any.

import { type CreateManyTimersAnswer as Answer, CreateManyTimersAnswer } from "@punctual/api/CreateManyTimers"
import type { FieldError, ProblemDocument } from "@punctual/api/Problem"
import { RawJson } from "@punctual/client"
import { Effect, Result } from "effect"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { type ServiceFailure, tryService } from "../client/ServiceClient.ts"
import { Output, type OutputClosed } from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import type { TimerLine } from "./TimerLines.ts"

type CreatedItem = Exclude<Answer["results"][number], { readonly problem: unknown }>

export type LineResult =
  | { readonly kind: "done"; readonly item: CreatedItem }
  /** The timer exists. An earlier try of this line may have stored it, or it existed before. */
  | { readonly kind: "uncertain"; readonly detail: string }
  | { readonly kind: "failed"; readonly detail: string; readonly errors?: ReadonlyArray<FieldError> }

/** The batch gives up after this many tries without progress: about a minute with the waits between them. */
const idleTriesMax = 8
const firstWaitMs = 500
const longestWaitMs = 10_000

export class LineBatch {
  readonly lines: ReadonlyArray<TimerLine>
  readonly #results: Array<LineResult | undefined>
  readonly #service: ServiceAddress
  /** The lines that an earlier try may have stored, although the service did not say so. */
  readonly #maybeStored = new Set<number>()
  /** Why the last try did not finish all lines. */
  #why = ""

  constructor(service: ServiceAddress, lines: ReadonlyArray<TimerLine>) {
    this.#service = service
    this.lines = lines
    this.#results = lines.map(({ item }) =>
      "problem" in item ? { kind: "failed", detail: item.problem } : undefined,
    )
  }

  resultOf(index: number): LineResult {
    return this.#results[index] ?? { kind: "failed", detail: this.#why }
  }

  /** Sends the lines. Returns why the rest of the file should not be sent, or `undefined` if it should be. */
  get send(): Effect.Effect<string | undefined, OutputClosed, Output> {
    return Effect.gen({ self: this }, function* () {
      let most = this.lines.length
      let idleTries = 0
      let hasSaid = false
      for (;;) {
        const open = this.#open()
        if (open.length === 0) return undefined
        const part = open.slice(0, most)
        const tried = yield* Effect.result(this.#try(part))
        if (Result.isFailure(tried) && isTooMuch(tried.failure) && part.length > 1) {
          most = Math.ceil(part.length / 2)
          continue
        }
        const waits = Result.isFailure(tried)
          ? this.#refused(tried.failure, part)
          : this.#take(tried.success, part)
        if (this.#open().length < open.length) idleTries = 0
        if (waits === undefined) continue
        if (waits === "never" || ++idleTries === idleTriesMax) return this.#giveUp(waits === "never")
        if (!hasSaid) yield* (yield* Output).remark(`${this.#why} Retrying …`)
        hasSaid = true
        yield* Effect.sleep(Math.min(waits ?? firstWaitMs * 2 ** (idleTries - 1), longestWaitMs))
      }
    })
  }

  #open(): ReadonlyArray<number> {
    return this.#results.flatMap((result, index) => (result === undefined ? [index] : []))
  }

  #try(part: ReadonlyArray<number>): Effect.Effect<Answer, ServiceFailure> {
    const items = part.map((index) => {
      const item = this.lines[index]?.item
      return item !== undefined && "json" in item ? item.json : "null"
    })
    const fields = { timers: new RawJson(`[${items.join(",")}]`) }
    return Effect.map(
      tryService(this.#service, { path: "/timers/createMany", fields, answer: CreateManyTimersAnswer }),
      ({ value }) => value,
    )
  }

  /** How long to wait before the next try: `null` if the service did not say, `undefined` if no wait is needed. */
  #refused(failure: ServiceFailure, part: ReadonlyArray<number>): number | null | "never" | undefined {
    this.#why = failure.message
    const [only] = part
    if (isTooMuch(failure) && only !== undefined) {
      this.#results[only] = failedBy(failure.problem, 0, failure.message)
      return undefined
    }
    if (failure.isUnreachable || maybeWritten(failure.problem)) {
      for (const index of part) this.#maybeStored.add(index)
    }
    if (failure.isUnreachable) return null
    return isForNow(failure.problem) ? waitOf(failure.problem) : "never"
  }

  #take({ results }: Answer, part: ReadonlyArray<number>): number | null | "never" | undefined {
    if (results.length !== part.length) {
      this.#why = `the service answered ${countOf(results.length, "result")} for ${countOf(part.length, "timer")}, so the result of each line is unknown. Check that it is a Punctual service of the same version.`
      return "never"
    }
    let waitMs: number | null | undefined
    const left: Array<number> = []
    for (const [place, index] of part.entries()) {
      const result = results[place]
      if (result === undefined) continue
      if (!("problem" in result)) this.#results[index] = { kind: "done", item: result }
      else if (isForNow(result.problem)) {
        this.#why = `refused (${result.problem.code}): ${result.problem.detail}`
        waitMs = Math.max(waitMs ?? 0, waitOf(result.problem) ?? 0) || null
        if (maybeWritten(result.problem)) this.#maybeStored.add(index)
        left.push(index)
      } else if (result.problem.code === "timerExists" && this.#maybeStored.has(index)) {
        this.#results[index] = { kind: "uncertain", detail: createdOrExisting }
      } else this.#results[index] = failedBy(result.problem, place, result.problem.detail)
    }
    for (const index of left) this.#reopenAfter(index)
    return waitMs
  }

  /** Lines must take effect in their order, so later lines of the same timer are sent again after this one. */
  #reopenAfter(index: number): void {
    const { namespace, timerId } = this.lines[index] ?? {}
    for (let later = index + 1; later < this.lines.length; later++) {
      const line = this.lines[later]
      const isDone = this.#results[later]?.kind === "done"
      if (isDone && line?.namespace === namespace && line?.timerId === timerId) {
        this.#results[later] = undefined
      }
    }
  }

  /** If no line of this batch succeeded, the rest of the file would fail too. */
  #giveUp(isFinal: boolean): string | undefined {
    const isAnyDone = this.#results.some((result) => result?.kind === "done")
    const open = this.#open()
    for (const index of open) this.#results[index] = { kind: "failed", detail: this.#why }
    return isFinal || !isAnyDone ? this.#why : undefined
  }
}

/** The request was too large for this service: an operator may have set lower limits. */
const isTooMuch = ({ problem }: ServiceFailure): boolean =>
  problem?.code === "bodyTooLarge" ||
  (problem?.code === "invalidRequest" &&
    problem.errors?.some(({ pointer }) => pointer === "/timers") === true)

const isForNow = (problem: ProblemDocument | undefined): boolean =>
  problem?.status === 429 || problem?.status === 503

const maybeWritten = (problem: ProblemDocument | undefined): boolean =>
  isForNow(problem) && problem?.written !== "no"

const createdOrExisting =
  "created or already there: the timer exists, and an earlier try of this command may have stored it"

const waitOf = (problem: ProblemDocument | undefined): number | null =>
  problem?.retryAfterSeconds === undefined ? null : problem.retryAfterSeconds * 1_000

/** The pointers of the errors become relative to the timer of the line. */
const failedBy = (problem: ProblemDocument | undefined, place: number, detail: string): LineResult => {
  const prefix = `/timers/${place}`
  const errors = problem?.errors?.map((error) => ({
    pointer: error.pointer.startsWith(prefix) ? error.pointer.slice(prefix.length) : error.pointer,
    detail: error.detail,
  }))
  if (errors === undefined || errors.length === 0) return { kind: "failed", detail }
  const found = errors.map(({ pointer, detail: what }) => `${pointer} ${what}`.trim())
  return { kind: "failed", detail: found.join("; "), errors }
}
