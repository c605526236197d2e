// Writes every failure as an RFC 9457 problem document.
import { type Problem, problemContentType, toProblemDocument } from "@punctual/api/Problem"
import type { HttpAnswer } from "./HttpAnswer.ts"

/** The answer to a request that failed. `allow` names the methods that the path accepts. */
export const problemResponse = (problem: Problem, options: { readonly allow?: string } = {}): HttpAnswer => ({
  status: problem.status,
  headers: {
    "content-type": problemContentType,
    ...("retryAfterSeconds" in problem ? { "retry-after": String(problem.retryAfterSeconds) } : {}),
    ...(options.allow === undefined ? {} : { allow: options.allow }),
  },
  body: problemJson(problem),
})

export const problemJson = (problem: Problem): string => JSON.stringify(toProblemDocument(problem))
