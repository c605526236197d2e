// Writes every failure as an RFC 9457 problem document.
import { type Problem, problemContentType, toProblemDocument } from "@punctual/api/Problem"
import { dataHeaders, type HttpAnswer } from "./HttpAnswer.ts"

/** The answer to a request that failed. `allow` names the methods that the path accepts. */
export const problemResponse = (problem: Problem, options: { readonly allow?: string } = {}): HttpAnswer => ({
  status: problem.status,
  headers: {
    "content-type": problemContentType,
    ...dataHeaders,
    ...("retryAfterSeconds" in problem ? { "retry-after": String(problem.retryAfterSeconds) } : {}),
    ...(problem.status === 401 ? { "www-authenticate": 'Bearer realm="punctual"' } : {}),
    ...(options.allow === undefined ? {} : { allow: options.allow }),
  },
  body: problemJson(problem),
})

export const problemJson = (problem: Problem): string => JSON.stringify(toProblemDocument(problem))
