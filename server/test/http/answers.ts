// What tests expect of answers, in the contract's own schemas. An answer that the schemas do not accept is wrong.

import { expect } from "bun:test"
import { CheckEgressAnswer } from "@punctual/api/CheckEgress"
import { CreateManyTimersAnswer } from "@punctual/api/CreateManyTimers"
import { CreateTimerAnswer } from "@punctual/api/CreateTimer"
import { DeleteManyTimersAnswer } from "@punctual/api/DeleteManyTimers"
import { DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import { TimerAnswer } from "@punctual/api/GetTimer"
import { ListAuditAnswer } from "@punctual/api/ListAudit"
import { ListLivesAnswer } from "@punctual/api/ListLives"
import { CountTimersAnswer, ListTimersAnswer } from "@punctual/api/ListTimers"
import { ListNamespacesAnswer, NamespaceAnswer, PutNamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { type ProblemCode, ProblemDocument, problemCodes } from "@punctual/api/Problem"
import { DiscardTimersAnswer, ReplayTimersAnswer } from "@punctual/api/ReplayTimers"
import { ListBreakersAnswer, ResetBreakersAnswer, ServiceAnswer } from "@punctual/api/Service"
import { ActivityAnswer } from "@punctual/api/TimerActivity"
import { TimerHistogramAnswer } from "@punctual/api/TimerHistogram"
import { UpdateTimerAnswer } from "@punctual/api/UpdateTimer"
import { Schema } from "effect"
import type { Answered } from "./ServiceFixture.ts"

const decoders = {
  create: Schema.decodeUnknownSync(CreateTimerAnswer),
  createMany: Schema.decodeUnknownSync(CreateManyTimersAnswer),
  get: Schema.decodeUnknownSync(TimerAnswer),
  update: Schema.decodeUnknownSync(UpdateTimerAnswer),
  delete: Schema.decodeUnknownSync(DeleteTimerAnswer),
  deleteMany: Schema.decodeUnknownSync(DeleteManyTimersAnswer),
  list: Schema.decodeUnknownSync(ListTimersAnswer),
  count: Schema.decodeUnknownSync(CountTimersAnswer),
  histogram: Schema.decodeUnknownSync(TimerHistogramAnswer),
  lives: Schema.decodeUnknownSync(ListLivesAnswer),
  activity: Schema.decodeUnknownSync(ActivityAnswer),
  replay: Schema.decodeUnknownSync(ReplayTimersAnswer),
  discard: Schema.decodeUnknownSync(DiscardTimersAnswer),
  "namespaces/put": Schema.decodeUnknownSync(PutNamespaceAnswer),
  "namespaces/get": Schema.decodeUnknownSync(NamespaceAnswer),
  "namespaces/list": Schema.decodeUnknownSync(ListNamespacesAnswer),
  "service/get": Schema.decodeUnknownSync(ServiceAnswer),
  "service/pause": Schema.decodeUnknownSync(ServiceAnswer),
  "service/resume": Schema.decodeUnknownSync(ServiceAnswer),
  "breakers/list": Schema.decodeUnknownSync(ListBreakersAnswer),
  "breakers/reset": Schema.decodeUnknownSync(ResetBreakersAnswer),
  "audit/list": Schema.decodeUnknownSync(ListAuditAnswer),
  "egress/check": Schema.decodeUnknownSync(CheckEgressAnswer),
}

type Calls = typeof decoders

/** The decoded answer of a successful call. */
export const succeeded = <Name extends keyof Calls>(
  name: Name,
  answered: Answered,
): ReturnType<Calls[Name]> => {
  expect({ status: answered.status, text: answered.text }).toEqual({ status: 200, text: answered.text })
  expect(answered.headers.get("content-type")).toBe("application/json")
  return decoders[name](answered.json) as ReturnType<Calls[Name]>
}

const decodeProblem = Schema.decodeUnknownSync(ProblemDocument)

/** The problem document of a refusal. It must be the documented one for its code. */
export const refused = (answered: Answered, code: ProblemCode): ProblemDocument => {
  const problem = decodeProblem(answered.json)
  expect({ code: problem.code, text: answered.text }).toEqual({ code, text: answered.text })
  expect(answered.status).toBe(problemCodes[code].status)
  expect(answered.headers.get("content-type")).toBe("application/problem+json")
  expect(problem).toMatchObject({ ...problemCodes[code], type: `urn:punctual:problem:${code}` })
  expect(problem.detail.length).toBeGreaterThan(0)
  if (answered.status === 503 || answered.status === 429) {
    expect(answered.headers.get("retry-after")).toBe(String(problem.retryAfterSeconds))
    expect(problem.written).toBeDefined()
  }
  return problem
}

/** The fields that a refusal names. */
export const pointersOf = (problem: ProblemDocument): ReadonlyArray<string> =>
  problem.errors?.map(({ pointer }) => pointer) ?? []
