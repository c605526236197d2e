// Every failure leaves as an RFC 9457 problem document, whatever layer found it.
import { type Problem, problemContentType, toProblemDocument } from "@punctual/api/Problem"

/** `closes` ends the connection too: the rest of a body that was not read must not be taken for a request. */
export const problemResponse = (
  problem: Problem,
  options: { readonly closes?: boolean; readonly allow?: string } = {},
): Response =>
  new Response(problemJson(problem), {
    status: problem.status,
    headers: {
      "content-type": problemContentType,
      ...("retryAfterSeconds" in problem ? { "retry-after": String(problem.retryAfterSeconds) } : {}),
      ...(options.allow === undefined ? {} : { allow: options.allow }),
      ...(options.closes === true ? { connection: "close" } : {}),
    },
  })

export const problemJson = (problem: Problem): string => JSON.stringify(toProblemDocument(problem))
