// Each call of the agent's contract: decoded request in, answer data or a problem out. The routes (AgentRoutes.ts) read
// and write the text.
import { callLimits } from "@punctual/api/agent/callLimits"
import type {
  ChangeManyCalls,
  ChangeManyCallsAnswer,
  ListCallsAnswer,
  ListCallsQuery,
} from "@punctual/api/agent/ListCalls"
import type {
  ServiceCallAnswer,
  ServiceCallDetailAnswer,
  SubmittedCallAnswer,
} from "@punctual/api/agent/ServiceCallView"
import type {
  AnnotateCall,
  RescheduleCall,
  RunCallAgain,
  SubmitCall,
  SubmitHeaders,
} from "@punctual/api/agent/SubmitCall"
import type {
  ListTenantsAnswer,
  ListTenantsQuery,
  PutTenantSettings,
  TenantSettingsAnswer,
} from "@punctual/api/agent/TenantCalls"
import { invalidField } from "@punctual/api/invalidRequest"
import type { Problem } from "@punctual/api/Problem"
import type { Caller } from "@punctual/door/Caller"
import { Effect } from "effect"
import type { CallFilter, CallSubmission, NewServiceCall, ServiceCalls } from "../calls/ServiceCalls.ts"
import { callView, detailView } from "./callView.ts"
import { changeMatching, changeNamed } from "./changeMany.ts"
import { listTenants } from "./listTenants.ts"
import { refuseCall } from "./refuseCall.ts"
import { CallBody } from "./SubmitText.ts"

/** A request of the contract. A part that the endpoint does not have is an empty object. */
export interface AgentRequest<Body = unknown, Query = unknown> {
  readonly params: { readonly tenantId: string; readonly serviceCallId: string }
  readonly query: Query
  readonly body: Body
  readonly headers: typeof SubmitHeaders.Type
  readonly caller: Caller
  /** When the request arrived, by the wall clock. `delay` counts from this time. */
  readonly receivedAt: number
  readonly requestId: string
  /** The client uses TLS, here or at a trusted proxy. */
  readonly isSecure: boolean
  /** The port in the address that the client used. */
  readonly port: number
}

type AgentCall<Body, Answer, Query = unknown> = (
  asked: AgentRequest<Body, Query>,
) => Effect.Effect<Answer, Problem>

export interface AgentCalls {
  readonly submit: AgentCall<SubmitCall, SubmittedCallAnswer>
  readonly list: AgentCall<unknown, ListCallsAnswer, ListCallsQuery>
  readonly changeMany: AgentCall<ChangeManyCalls, ChangeManyCallsAnswer>
  readonly get: AgentCall<unknown, ServiceCallDetailAnswer>
  readonly annotate: AgentCall<AnnotateCall, ServiceCallAnswer>
  readonly cancel: AgentCall<unknown, ServiceCallAnswer>
  readonly reschedule: AgentCall<RescheduleCall, ServiceCallAnswer>
  readonly runAgain: AgentCall<RunCallAgain, SubmittedCallAnswer>
  readonly listTenants: AgentCall<unknown, ListTenantsAnswer, ListTenantsQuery>
  readonly getSettings: AgentCall<unknown, TenantSettingsAnswer>
  readonly putSettings: AgentCall<PutTenantSettings, TenantSettingsAnswer>
}

const refuseRead = refuseCall("calls.read")
const refuseWrite = refuseCall("calls.write")

export const makeAgentCalls = (calls: ServiceCalls["Service"]): AgentCalls => ({
  submit: (asked) =>
    Effect.gen(function* () {
      return submittedAnswer(yield* Effect.catch(calls.submit(yield* newCallOf(asked)), refuseWrite))
    }),
  list: ({ params: { tenantId }, query }) =>
    Effect.gen(function* () {
      const { sort = "submitted", order = "desc", cursor, limit = callLimits.listPageDefault } = query
      const filter = filterOf(query)
      const page = yield* Effect.catch(
        calls.list(tenantId, {
          ...filter,
          order: sort,
          isAscending: order === "asc",
          ...(cursor === undefined ? {} : { cursor }),
          limit,
        }),
        refuseRead,
      )
      const { states: _, ...anyState } = filter
      const counted =
        cursor === undefined ? yield* Effect.catch(calls.counts(tenantId, anyState), refuseRead) : undefined
      return {
        calls: page.calls.map(callView),
        ...(counted === undefined ? {} : { counts: { ...counted.counts, capped: counted.isCapped } }),
        ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
      }
    }),
  changeMany: ({ params: { tenantId }, body }) =>
    body.ids === undefined
      ? changeMatching(calls, tenantId, {
          ...body,
          filter: filterOf(body.filter ?? {}),
          expectedCount: body.expectedCount ?? 0,
        })
      : changeNamed(calls, tenantId, body.ids, body),
  get: ({ params: { tenantId, serviceCallId }, caller }) =>
    calls.get(tenantId, serviceCallId).pipe(
      Effect.catch(refuseRead),
      Effect.map((detail) => detailView(detail, caller.may("payload.read", tenantId))),
    ),
  annotate: ({ params: { tenantId, serviceCallId }, body: { name, tags, starred } }) =>
    answered(
      calls.annotate(tenantId, serviceCallId, {
        ...(name === undefined ? {} : { name }),
        ...(tags === undefined ? {} : { tags }),
        ...(starred === undefined ? {} : { isStarred: starred }),
      }),
    ),
  cancel: ({ params: { tenantId, serviceCallId } }) => answered(calls.cancel(tenantId, serviceCallId)),
  reschedule: (asked) =>
    Effect.gen(function* () {
      const { tenantId, serviceCallId } = asked.params
      const dueAt = (yield* dueAtOf(asked)) ?? asked.receivedAt
      return yield* answered(calls.reschedule(tenantId, serviceCallId, dueAt))
    }),
  runAgain: (asked) =>
    Effect.gen(function* () {
      const { tenantId, serviceCallId } = asked.params
      const dueAt = yield* dueAtOf(asked)
      const { "idempotency-key": idempotencyKey } = asked.headers
      const submitted = yield* Effect.catch(
        calls.runAgain(tenantId, serviceCallId, {
          ...(dueAt === undefined ? {} : { dueAt }),
          ...(asked.body.serviceCallId === undefined ? {} : { serviceCallId: asked.body.serviceCallId }),
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
          correlationId: asked.requestId,
        }),
        refuseWrite,
      )
      return submittedAnswer(submitted)
    }),
  listTenants: ({ caller, query }) => listTenants(calls, caller.rights.namespaces, query),
  getSettings: ({ params: { tenantId } }) =>
    calls.settings(tenantId).pipe(
      Effect.catch(refuseRead),
      Effect.map(({ hiddenHeaders }) => ({ settings: { hiddenHeaders } })),
    ),
  putSettings: ({ params: { tenantId }, body }) => {
    const hiddenHeaders = [...new Set(body.hiddenHeaders.map((name) => name.toLowerCase()))]
    return calls
      .putSettings(tenantId, { hiddenHeaders })
      .pipe(Effect.catch(refuseWrite), Effect.as({ settings: { hiddenHeaders } }))
  },
})

const submittedAnswer = ({ call, isNew }: CallSubmission): SubmittedCallAnswer => ({
  result: isNew ? "submitted" : "unchanged",
  call: callView(call),
})

const answered = (
  work: ReturnType<ServiceCalls["Service"]["cancel" | "annotate" | "reschedule"]>,
): Effect.Effect<ServiceCallAnswer, Problem> =>
  work.pipe(
    Effect.catch(refuseWrite),
    Effect.map((call) => ({ call: callView(call) })),
  )

/** A filter of a list or of a change of many calls, in the words of the application. */
const filterOf = (filter: Partial<ListCallsQuery>): CallFilter => {
  const { status, tag, starred, name, method, host, from, until } = filter
  return {
    ...(status === undefined ? {} : { states: status }),
    ...(tag === undefined ? {} : { tag }),
    ...(starred === undefined ? {} : { isStarred: starred }),
    ...(name === undefined ? {} : { name }),
    ...(method === undefined ? {} : { method }),
    ...(host === undefined ? {} : { host: host.toLowerCase() }),
    ...(from === undefined ? {} : { inclusiveFrom: from }),
    ...(until === undefined ? {} : { exclusiveUntil: until }),
  }
}

/** The due time that a request asks for; `undefined` means now. */
const dueAtOf = ({
  body: { dueAt, delay },
  receivedAt,
}: AgentRequest<{ readonly dueAt?: number; readonly delay?: number }>): Effect.Effect<
  number | undefined,
  Problem
> => {
  if (delay !== undefined) return Effect.succeed(receivedAt + delay)
  return dueAt !== undefined && dueAt > receivedAt + callLimits.aheadMs
    ? Effect.fail(invalidField("/dueAt", "must be at most 3653 days in the future"))
    : // An instant that is past means now, however long ago it is. The agent counts from 1970.
      Effect.succeed(dueAt === undefined ? undefined : Math.max(0, dueAt))
}

const newCallOf = (asked: AgentRequest<SubmitCall>): Effect.Effect<NewServiceCall, Problem> =>
  Effect.gen(function* () {
    const dueAt = yield* dueAtOf(asked)
    const { body, params, requestId, headers } = asked
    const { serviceCallId, correlationId, name, tags = [] } = body
    const { "idempotency-key": idempotencyKey = body.idempotencyKey } = headers
    if (body.idempotencyKey !== undefined && body.idempotencyKey !== idempotencyKey)
      return yield* Effect.fail(
        invalidField("/idempotencyKey", "differs from the header Idempotency-Key: give one of them"),
      )
    const { method, url } = body.request
    return {
      tenantId: params.tenantId,
      ...(serviceCallId === undefined ? {} : { serviceCallId }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      name: name ?? usualName(method, url),
      ...(dueAt === undefined ? {} : { dueAt }),
      request: requestOf(body.request),
      tags,
      correlationId: correlationId ?? requestId,
    }
  })

/** URLs are ASCII, so a character is a byte. */
const usualName = (method: string, url: string): string => {
  const { origin, pathname } = new URL(url)
  return `${method} ${origin}${pathname}`.slice(0, callLimits.nameBytes)
}

const requestOf = ({ method, url, headers, body }: SubmitCall["request"]): NewServiceCall["request"] => {
  if (!(body instanceof CallBody)) return { method, url, ...(headers === undefined ? {} : { headers }) }
  const hasType = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "content-type")
  const all = body.isJson && !hasType ? { ...headers, "content-type": "application/json" } : headers
  return { method, url, ...(all === undefined ? {} : { headers: all }), body: body.text }
}
