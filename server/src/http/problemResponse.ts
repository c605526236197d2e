// Writes every failure as an RFC 9457 problem document.
import { type Problem, problemContentType, toProblemDocument } from "@punctual/api/Problem"

/** `closes` also closes the connection, so that the unread rest of a body is not taken for a request. */
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
