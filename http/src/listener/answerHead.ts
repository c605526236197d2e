// The first lines of an answer.
import type { HttpAnswer } from "../HttpAnswer.ts"
import { requestIdHeader } from "../requestIdOf.ts"

export interface AnswerFraming {
  /** The length of the body, unless it is a stream. */
  readonly bodyBytes: number | "chunked" | "untilClose"
  readonly closes: boolean
  /** Absent if no whole request has arrived. */
  readonly requestId?: string
}

/** Everything up to the body, as ASCII. A header that is not plain text is an error of the service. */
export const answerHead = ({ status, headers }: HttpAnswer, framing: AnswerFraming): string => {
  const { bodyBytes, closes, requestId } = framing
  let head = `HTTP/1.1 ${status} ${reasons[status] ?? "Other"}\r\n`
  for (const name in headers) {
    const value = headers[name] ?? ""
    if (!headerText.test(value)) throw new Error(`the header ${name} of an answer is not plain ASCII`)
    head += `${name}: ${value}\r\n`
  }
  if (bodyBytes === "chunked") head += "transfer-encoding: chunked\r\n"
  else if (bodyBytes !== "untilClose" && status !== 204 && status !== 304)
    head += `content-length: ${bodyBytes}\r\n`
  if (requestId !== undefined) head += `${requestIdHeader}: ${requestId}\r\n`
  if (closes) head += "connection: close\r\n"
  return `${head}date: ${dateNow()}\r\n\r\n`
}

/** The whole text of an answer after which the connection closes. Its body must be text. */
export const lastAnswerText = (answer: HttpAnswer): string => {
  const body = String(answer.body)
  const bodyBytes = Buffer.byteLength(body)
  return `${answerHead(answer, { bodyBytes, closes: true })}${body}`
}

let dateText = ""
let dateSecond = 0

const dateNow = (): string => {
  const second = Math.floor(Date.now() / 1_000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1_000).toUTCString()
  }
  return dateText
}

const headerText = /^[\t\u0020-\u007e]*$/

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  204: "No Content",
  302: "Found",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  417: "Expectation Failed",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
}
