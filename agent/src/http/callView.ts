// Turns a service call of the domain into the data of the contract. Lists and events show no contents.
import type {
  ServiceCallDetail,
  ServiceCallDetailAnswer,
  ServiceCallView,
} from "@punctual/api/agent/ServiceCallView"
import type { CallDetail } from "../calls/ServiceCalls.ts"
import type { ResponseMeta, ServiceCall } from "../domain/ServiceCall.ts"

export const callView = (call: ServiceCall): ServiceCallView => {
  const answer = answerOf(call)
  return {
    ...factsOf(call),
    ...(answer === undefined ? {} : { response: { status: answer.status, latencyMs: answer.latencyMs } }),
  }
}

/** `showsContents`: the caller may see headers and bodies. */
export const detailView = (
  { call, request, timeline }: CallDetail,
  showsContents: boolean,
): ServiceCallDetailAnswer => {
  const { method, headers, body } = request
  return {
    call: detailOf(call, showsContents),
    request: {
      method,
      url: showsContents ? request.url : call.shownUrl,
      ...(showsContents && headers !== undefined ? { headers } : {}),
      ...(showsContents && body !== undefined ? { body } : {}),
    },
    timeline: timeline.map(({ state, ...entry }) => ({ ...entry, status: state })),
    ...(showsContents ? {} : { hidden: true }),
  }
}

const detailOf = (call: ServiceCall, showsContents: boolean): ServiceCallDetail => {
  const answer = answerOf(call)
  if (answer === undefined || !showsContents) return callView(call)
  const { status, latencyMs, headers, bodySnippet, isCut } = answer
  return {
    ...factsOf(call),
    response: { status, latencyMs, headers, bodySnippet, ...(isCut === true ? { cut: true } : {}) },
  }
}

/** A failed call may have an answer, too. */
const answerOf = ({ response, error }: ServiceCall): ResponseMeta | undefined => response ?? error?.response

const factsOf = (call: ServiceCall): Omit<ServiceCallView, "response"> => {
  const { attemptId, runningAt, startedAt, finishedAt, error } = call
  return {
    tenantId: call.tenantId,
    serviceCallId: call.serviceCallId,
    version: call.version,
    status: call.state,
    name: call.name,
    tags: call.tags,
    starred: call.isStarred,
    method: call.method,
    host: call.host,
    url: call.shownUrl,
    correlationId: call.correlationId,
    submittedAt: call.submittedAt,
    dueAt: call.dueAt,
    ...(attemptId === undefined ? {} : { attemptId }),
    ...(runningAt === undefined ? {} : { runningAt }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(error === undefined
      ? {}
      : {
          error: {
            kind: error.kind,
            message: error.message,
            ...(error.latencyMs === undefined ? {} : { latencyMs: error.latencyMs }),
          },
        }),
  }
}
