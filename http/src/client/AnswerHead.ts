// The head of an answer to a plain HTTP request: status, headers, and how its body is framed. Whoever answers may be
// hostile, so everything is limited, and whatever could be read in two ways is refused.
import { trimmed } from "../listener/RequestHead.ts"

export interface AnswerHead {
  readonly status: number
  readonly headers: { get(lowerCaseName: string): string | null }
  /** The length of the body, or how its end is found. */
  readonly bodyBytes: number | "chunked" | "untilClose"
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean
}

/** The longest head. Most have less than 1 KiB. */
export const headBytesMax = 32 * 1024
const headersMax = 200

/** `text` is everything before the empty line. `undefined` if it is malformed. */
export const readAnswerHead = (text: string): AnswerHead | undefined => {
  const [statusLine = "", ...lines] = text.split("\r\n")
  const parts = statusForm.exec(statusLine)
  if (parts === null || lines.length > headersMax) return undefined
  const status = Number(parts[2])
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(":")
    const name = line.slice(0, Math.max(0, colon))
    // One pattern for the whole line would go back and forth over long runs of blanks, for seconds.
    if (!nameForm.test(name) || forbidden.test(line)) return undefined
    const value = trimmed(line, colon + 1, line.length)
    const lower = name.toLowerCase()
    const before = headers.get(lower)
    // Equal lengths are one length. Different ones would end the body at two places.
    if (before !== undefined && lower === "content-length") {
      if (before !== value) return undefined
    } else headers.set(lower, before === undefined ? value : `${before}, ${value}`)
  }
  const coding = headers.get("transfer-encoding")?.toLowerCase()
  const length = headers.get("content-length")
  const bodyBytes = bodyBytesOf(status, coding, length)
  if (bodyBytes === undefined) return undefined
  const isOld = parts[1] === "0"
  const closes = /(?:^|,)\s*close\s*(?:,|$)/i.test(headers.get("connection") ?? "")
  return {
    status,
    headers: { get: (name) => headers.get(name) ?? null },
    bodyBytes,
    keepsAlive:
      !isOld && !closes && bodyBytes !== "untilClose" && !(coding !== undefined && length !== undefined),
  }
}

const statusForm = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\0\r\n]*)?$/
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const forbidden = /[\0\r\n]/

const bodyBytesOf = (
  status: number,
  coding: string | undefined,
  length: string | undefined,
): AnswerHead["bodyBytes"] | undefined => {
  if (status < 200 || status === 204 || status === 304) return 0
  if (coding !== undefined) return coding === "chunked" ? "chunked" : "untilClose"
  if (length === undefined) return "untilClose"
  const bytes = /^\d{1,16}$/.test(length) ? Number(length) : Number.NaN
  return Number.isSafeInteger(bytes) ? bytes : undefined
}
