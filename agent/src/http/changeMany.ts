// Cancels, stars or tags many calls: those that a request names, or all that match a filter. First it reads which calls
// these are, and then it changes them one by one, because a change may move a call out of the filter.
import { callLimits } from "@punctual/api/agent/callLimits"
import type { ChangeManyCalls, ChangeManyCallsAnswer } from "@punctual/api/agent/ListCalls"
import { CountChanged, type Problem } from "@punctual/api/Problem"
import { mostTags } from "@punctual/api/Tags"
import { Effect } from "effect"
import type {
  CallConflict,
  CallFilter,
  CallNotFound,
  CallRefused,
  ServiceCalls,
  StoreUnavailable,
} from "../calls/ServiceCalls.ts"
import { callStates, type ServiceCall } from "../domain/ServiceCall.ts"
import { refuseCall } from "./refuseCall.ts"

type Act = Pick<ChangeManyCalls, "do" | "tag">

interface MatchingChange extends Act {
  readonly filter: CallFilter
  readonly expectedCount: number
  readonly cursor?: string
}

/** How many changes run at a time. They share commits. */
const atOnce = 16

/** A page may be short or empty and still have a cursor. */
const pagesMax = 50

const refuse = refuseCall("calls.write")

export const changeMatching = (
  calls: ServiceCalls["Service"],
  tenantId: string,
  change: MatchingChange,
): Effect.Effect<ChangeManyCallsAnswer, Problem> =>
  Effect.gen(function* () {
    yield* checkCount(calls, tenantId, change)
    const { found, nextCursor } = yield* read(calls, tenantId, change)
    const result = yield* changeEach(calls, found, change)
    return nextCursor === undefined ? result : { ...result, nextCursor }
  })

export const changeNamed = (
  calls: ServiceCalls["Service"],
  tenantId: string,
  ids: ReadonlyArray<string>,
  act: Act,
): Effect.Effect<ChangeManyCallsAnswer, Problem> =>
  Effect.gen(function* () {
    const one = (id: string): Effect.Effect<ReadonlyArray<ServiceCall>, Problem> =>
      calls.find(tenantId, id).pipe(
        Effect.map((call) => [call]),
        Effect.catchTag("CallNotFound", () => Effect.succeed([])),
        Effect.catch(refuse),
      )
    const found = (yield* Effect.forEach(ids, one, { concurrency: atOnce })).flat()
    const result = yield* changeEach(calls, found, act)
    return { ...result, missing: ids.length - found.length }
  })

const changeEach = (calls: ServiceCalls["Service"], found: ReadonlyArray<ServiceCall>, act: Act) =>
  Effect.gen(function* () {
    const results = yield* Effect.forEach(found, (call) => changeOne(calls, call, act), {
      concurrency: atOnce,
    })
    const changed = results.filter((isChanged) => isChanged).length
    return { matched: found.length, changed, skipped: found.length - changed }
  })

/** A person has looked at so many calls. Some more may have come since, but not many. */
const checkCount = (
  calls: ServiceCalls["Service"],
  tenantId: string,
  { filter, expectedCount }: MatchingChange,
) =>
  Effect.gen(function* () {
    const { states, ...anyState } = filter
    const { counts } = yield* Effect.catch(calls.counts(tenantId, anyState), refuse)
    const currentCount = (states ?? callStates).reduce((sum, state) => sum + counts[state], 0)
    if (currentCount <= Math.floor(expectedCount * 1.1)) return
    return yield* Effect.fail(
      new CountChanged({
        detail: `The filter matches ${currentCount} calls now, over 10 % more than the ${expectedCount} that were expected. Nothing was changed: look at the calls again, then send the new count.`,
        currentCount,
      }),
    )
  })

const read = (calls: ServiceCalls["Service"], tenantId: string, { filter, cursor: first }: MatchingChange) =>
  Effect.gen(function* () {
    const found: Array<ServiceCall> = []
    let cursor = first
    let pages = 0
    do {
      const limit = Math.min(callLimits.listPage, callLimits.bulk - found.length)
      const query = { ...filter, order: "submitted" as const, isAscending: true, limit }
      const page = yield* Effect.catch(
        calls.list(tenantId, cursor === undefined ? query : { ...query, cursor }),
        refuse,
      )
      found.push(...page.calls)
      cursor = page.nextCursor
      pages++
    } while (cursor !== undefined && found.length < callLimits.bulk && pages < pagesMax)
    return { found, nextCursor: cursor }
  })

/** Whether the call was changed. A call that cannot be changed is skipped. */
const changeOne = (
  calls: ServiceCalls["Service"],
  call: ServiceCall,
  change: Act,
): Effect.Effect<boolean, Problem> => {
  const { tenantId, serviceCallId, tags, isStarred } = call
  const tag = change.tag ?? ""
  const annotate = (annotation: Parameters<typeof calls.annotate>[2]) =>
    done(calls.annotate(tenantId, serviceCallId, annotation))
  switch (change.do) {
    case "cancel":
      return call.state === "Cancelled" ? skipped : done(calls.cancel(tenantId, serviceCallId))
    case "star":
      return isStarred ? skipped : annotate({ isStarred: true })
    case "unstar":
      return isStarred ? annotate({ isStarred: false }) : skipped
    case "addTag":
      return tags.includes(tag) || tags.length >= mostTags ? skipped : annotate({ tags: [...tags, tag] })
    case "removeTag":
      return tags.includes(tag) ? annotate({ tags: tags.filter((other) => other !== tag) }) : skipped
  }
}

const skipped = Effect.succeed(false)

const done = (
  work: Effect.Effect<ServiceCall, CallNotFound | CallConflict | CallRefused | StoreUnavailable>,
): Effect.Effect<boolean, Problem> =>
  work.pipe(
    Effect.as(true),
    Effect.catchTag(["CallNotFound", "CallConflict"], () => skipped),
    Effect.catch(refuse),
  )
