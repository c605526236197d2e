// Why the listener refuses a request: it cannot read it. The answer is a problem document with the same fields as
// those of the contract. The codes are not part of the contract, because such a request reaches no call.
import { MethodNotAllowed, problemContentType, UnsupportedMediaType } from "@punctual/api/Problem"
import type { HttpAnswer } from "../HttpAnswer.ts"
import { problemResponse } from "../problemResponse.ts"

/** The status and the title that belong to each code. */
const badRequestCodes = {
  malformedRequest: { status: 400, title: "The request is not valid HTTP" },
  targetTooLong: { status: 414, title: "The request target is too long" },
  expectationFailed: { status: 417, title: "The expectation cannot be met" },
  headersTooLarge: { status: 431, title: "The headers are too large" },
  transferCodingUnknown: { status: 501, title: "The transfer coding is not supported" },
  versionNotSupported: { status: 505, title: "This version of HTTP is not supported" },
} as const

export type BadRequestCode = keyof typeof badRequestCodes | "methodNotAllowed" | "unsupportedMediaType"

export class BadRequest {
  readonly code: BadRequestCode
  readonly detail: string

  constructor(code: BadRequestCode, detail: string) {
    this.code = code
    this.detail = detail
  }
}

export const malformed = (detail: string): BadRequest => new BadRequest("malformedRequest", detail)

export const badRequestAnswer = ({ code, detail }: BadRequest): HttpAnswer => {
  if (code === "methodNotAllowed")
    return problemResponse(new MethodNotAllowed({ detail }), { allow: "GET, HEAD, POST, OPTIONS" })
  if (code === "unsupportedMediaType") return problemResponse(new UnsupportedMediaType({ detail }))
  const { status, title } = badRequestCodes[code]
  return {
    status,
    headers: { "content-type": problemContentType },
    body: JSON.stringify({ type: `urn:punctual:problem:${code}`, title, status, code, detail }),
  }
}
