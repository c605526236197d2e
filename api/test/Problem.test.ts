import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import * as Problems from "../src/Problem.ts"
import { type ProblemCode, ProblemDocument, problemCodes, toProblemDocument } from "../src/Problem.ts"

const detail = "what happened, and what to do"
const one: Readonly<Record<ProblemCode, Problems.Problem>> = {
  invalidJson: new Problems.InvalidJson({ detail }),
  invalidRequest: new Problems.InvalidRequest({ detail, errors: [{ pointer: "/a", detail: "is required" }] }),
  egressRefused: new Problems.EgressRefused({ detail, errors: [{ pointer: "/a", detail: "is refused" }] }),
  unauthorized: new Problems.Unauthorized({ detail }),
  forbidden: new Problems.Forbidden({ detail }),
  notFound: new Problems.NotFound({ detail }),
  keyNotFound: new Problems.KeyNotFound({ detail }),
  jobNotFound: new Problems.JobNotFound({ detail }),
  countChanged: new Problems.CountChanged({ detail, currentCount: 3 }),
  callNotFound: new Problems.CallNotFoundProblem({ detail }),
  callExists: new Problems.CallExistsProblem({ detail }),
  callState: new Problems.CallStateProblem({ detail }),
  storeUnavailable: new Problems.StoreUnavailableProblem({
    detail,
    retryAfterSeconds: 1,
    written: "unknown",
  }),
  keyRefused: new Problems.KeyChangeRefused({ detail }),
  messageNotFound: new Problems.MessageNotFound({ detail }),
  messageRefused: new Problems.MessageRefusedByBus({ detail }),
  brokerUnavailable: new Problems.BrokerUnavailable({ detail, retryAfterSeconds: 5, written: "no" }),
  timerNotFound: new Problems.TimerNotFound({ detail }),
  methodNotAllowed: new Problems.MethodNotAllowed({ detail }),
  requestTimeout: new Problems.RequestTimeout({ detail }),
  timerExists: new Problems.TimerExists({ detail }),
  revisionMismatch: new Problems.RevisionMismatch({ detail, currentRevision: 7 }),
  timerInFlight: new Problems.TimerInFlight({ detail }),
  clockNotManual: new Problems.ClockNotManual({ detail }),
  restoredFromBackup: new Problems.RestoredFromBackup({ detail }),
  bodyTooLarge: new Problems.BodyTooLarge({ detail }),
  unsupportedMediaType: new Problems.UnsupportedMediaType({ detail }),
  quotaExceeded: new Problems.QuotaExceeded({
    detail,
    quota: "maxPending",
    retryAfterSeconds: 1,
    written: "no",
  }),
  internal: new Problems.Internal({ detail }),
  overloaded: new Problems.Overloaded({ detail, retryAfterSeconds: 2, written: "unknown" }),
  ownerUnavailable: new Problems.OwnerUnavailable({ detail, retryAfterSeconds: 3, written: "no" }),
}

describe("a problem", () => {
  for (const [code, problem] of Object.entries(one) as Array<[ProblemCode, Problems.Problem]>) {
    test(`with code ${code} is a document with its own status, title and type`, () => {
      const document = toProblemDocument(problem)
      expect(document).toMatchObject({
        ...problemCodes[code],
        code,
        detail,
        type: `urn:punctual:problem:${code}`,
      })
      expect(Object.keys(document)).not.toContain("_tag")
      expect(Schema.decodeUnknownSync(ProblemDocument)(JSON.parse(JSON.stringify(document)))).toEqual(
        document,
      )
      expect(problem.message).toBe(detail)
      // A caller that retries must know whether the first call may have had an effect.
      const { status } = problemCodes[code]
      expect("written" in document).toBe(status === 429 || status === 503)
    })
  }

  test("has the fields that its code promises", () => {
    expect(toProblemDocument(one.revisionMismatch).currentRevision).toBe(7)
    expect(toProblemDocument(one.quotaExceeded)).toMatchObject({ quota: "maxPending", retryAfterSeconds: 1 })
    expect(toProblemDocument(one.overloaded)).toMatchObject({ retryAfterSeconds: 2, written: "unknown" })
    expect(toProblemDocument(one.ownerUnavailable).retryAfterSeconds).toBe(3)
    expect(toProblemDocument(one.invalidRequest).errors).toEqual([{ pointer: "/a", detail: "is required" }])
  })
})
