// Reads the head of a request (RFC 9112): the request line and the headers. It is strict. If two readers of the same
// bytes could disagree on where a request ends, a proxy and this service could see different requests ("request
// smuggling"). So everything ambiguous about the length of a body is refused, and the connection closes.
import type { RequestHeaders } from "../HttpRequest.ts"
import { BadRequest, malformed } from "./BadRequest.ts"

export interface RequestHead {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: RequestHeaders
  /** An older client. It does not know chunks, and its connection closes after the answer. */
  readonly isHttp10: boolean
  readonly keepsAlive: boolean
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean
  /** The length of the body, unless the body comes in chunks. */
  readonly bodyBytes: number | "chunked"
}

export const targetBytesMax = 8 * 1024
export const headerBytesMax = 16 * 1024
export const headersMax = 100

/** The longest request line: the longest target, and room for the method and the version. */
export const requestLineBytesMax = targetBytesMax + 64

/** `text` is the head without the empty line at its end, with one character for each byte. */
export const readHead = (text: string): RequestHead | BadRequest => {
  const lineEnd = text.indexOf("\r\n")
  const line = readRequestLine(lineEnd < 0 ? text : text.slice(0, lineEnd))
  if (line instanceof BadRequest) return line
  const fields = readFields(text, lineEnd < 0 ? text.length : lineEnd + 2)
  return fields instanceof BadRequest ? fields : headOf(line, fields)
}

interface RequestLine {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly isHttp10: boolean
}

export const readRequestLine = (line: string): RequestLine | BadRequest => {
  const afterMethod = line.indexOf(" ")
  const beforeVersion = line.lastIndexOf(" ")
  if (afterMethod <= 0 || beforeVersion === afterMethod)
    return malformed("The first line must be a method, a target and a version, separated by single spaces.")
  const method = line.slice(0, afterMethod)
  if (method !== "POST" && method !== "GET" && !token.test(method))
    return malformed("The method must not contain this character.")
  const target = line.slice(afterMethod + 1, beforeVersion)
  if (target.length > targetBytesMax || line.length > requestLineBytesMax) return targetTooLong()
  if (!visible.test(target)) return malformed("The target must consist of visible ASCII characters.")
  const version = line.slice(beforeVersion + 1)
  if (version !== "HTTP/1.1" && version !== "HTTP/1.0") return whyNotVersion(version)
  if (method === "CONNECT" || method === "TRACE")
    return new BadRequest("methodNotAllowed", `The method ${method} is not supported.`)
  const path = pathOfTarget(target)
  if (path === undefined) return malformed("The target must be a path that begins with a slash, or a URL.")
  const question = path.indexOf("?")
  return {
    method,
    path: question < 0 ? path : path.slice(0, question),
    query: question < 0 ? "" : path.slice(question + 1),
    isHttp10: version === "HTTP/1.0",
  }
}

const whyNotVersion = (version: string): BadRequest =>
  /^HTTP\/\d\.\d$/.test(version)
    ? new BadRequest("versionNotSupported", "Use HTTP/1.1.")
    : malformed("The first line must end with HTTP/1.1.")

/** A client of a proxy sends the whole URL. A star is the target of OPTIONS for the whole service. */
const pathOfTarget = (target: string): string | undefined => {
  if (target.startsWith("/") || target === "*") return target
  const [whole] = /^https?:\/\/[^/?]+/i.exec(target) ?? []
  if (whole === undefined) return undefined
  const rest = target.slice(whole.length)
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** The headers of one request, in the order of their arrival. A request has few, so a search is fast. */
class Fields implements RequestHeaders {
  readonly names: Array<string> = []
  readonly values: Array<string> = []
  #bits = 0

  add(name: string, value: string): void {
    this.names.push(name)
    this.values.push(value)
    this.#bits |= bitOf(name)
  }

  get(name: string): string | null {
    // Most of the headers that the service asks for are absent.
    if ((this.#bits & bitOf(name)) === 0) return null
    let found: string | null = null
    for (let index = 0; index < this.names.length; index++) {
      if (this.names[index] !== name) continue
      const value = this.values[index] ?? ""
      found = found === null ? value : `${found}, ${value}`
    }
    return found
  }
}

/** One of 32 bits. Names with the same bit are rare. */
const bitOf = (name: string): number => 1 << ((name.charCodeAt(0) * 5 + name.length) & 31)

const readFields = (text: string, from: number): Fields | BadRequest => {
  const fields = new Fields()
  if (text.length - from > headerBytesMax) return headersTooLarge()
  let start = from
  while (start < text.length) {
    const lineEnd = text.indexOf("\r\n", start)
    const end = lineEnd < 0 ? text.length : lineEnd
    const colon = text.indexOf(":", start)
    if (colon < 0 || colon > end)
      return malformed(isFolded(text, start) ? whyNotFolded : "A header has no colon.")
    const name = text.slice(start, colon)
    const known = knownNames.get(name)
    if (known === undefined && !token.test(name))
      return malformed(isFolded(text, start) ? whyNotFolded : whyNoName)
    const value = trimmed(text, colon + 1, end)
    if (!fieldText.test(value)) return malformed("A header has a control character in its value.")
    if (fields.names.length === headersMax) return headersTooLarge()
    fields.add(known ?? name.toLowerCase(), value)
    start = end + 2
  }
  return fields
}

const whyNoName = "The name of a header must not be empty, and must not contain spaces or special characters."
const whyNotFolded =
  "A line of the headers begins with a space or a tab. A header must not continue on the next line: send each header on one line."

/** Old clients may continue a header on the next line, which begins with a blank. */
const isFolded = (text: string, lineStart: number): boolean =>
  text[lineStart] === " " || text[lineStart] === "\t"

/** Removes only spaces and tabs. `trim` would also remove other characters, which make a value invalid. */
export const trimmed = (text: string, from: number, to: number): string => {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

const isBlank = (code: number): boolean => code === 32 || code === 9

const headOf = (line: RequestLine, headers: Fields): RequestHead | BadRequest => {
  let bodyBytes: number | "chunked" | undefined
  let hasHost = false
  let keepsAlive = !line.isHttp10
  let expectsContinue = false
  for (let index = 0; index < headers.names.length; index++) {
    const value = headers.values[index] ?? ""
    switch (headers.names[index]) {
      case "host":
        if (hasHost) return malformed("The request has more than one Host header: send exactly one.")
        if (!hostText.test(value)) return malformed("The Host header is not a host and a port.")
        hasHost = true
        break
      case "content-length":
        if (bodyBytes !== undefined) return malformed(oneLength)
        if (!/^\d{1,15}$/.test(value)) return malformed("Content-Length must be one whole number.")
        bodyBytes = Number(value)
        break
      case "transfer-encoding":
        if (bodyBytes !== undefined) return malformed(oneLength)
        if (line.isHttp10) return malformed("HTTP/1.0 has no Transfer-Encoding.")
        if (value.toLowerCase() !== "chunked")
          return new BadRequest("transferCodingUnknown", "Transfer-Encoding must be chunked.")
        bodyBytes = "chunked"
        break
      case "connection":
        if (/(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value)) keepsAlive = false
        break
      case "expect":
        if (value.toLowerCase() !== "100-continue")
          return new BadRequest("expectationFailed", "The only supported expectation is 100-continue.")
        expectsContinue = !line.isHttp10
        break
      case "content-encoding":
        if (value.toLowerCase() !== "identity")
          return new BadRequest(
            "unsupportedMediaType",
            "Send the body without compression: the service does not support Content-Encoding.",
          )
        break
    }
  }
  if (!hasHost && !line.isHttp10) return malformed("The Host header is missing.")
  return { ...line, headers, keepsAlive, expectsContinue, bodyBytes: bodyBytes ?? 0 }
}

const oneLength =
  "The length of the body must be given once, either as Content-Length or as Transfer-Encoding: chunked."

export const targetTooLong = (): BadRequest =>
  new BadRequest("targetTooLong", `The target must be at most ${targetBytesMax} bytes (this limit is fixed).`)

export const headersTooLarge = (): BadRequest =>
  new BadRequest(
    "headersTooLarge",
    `A request may have at most ${headersMax} headers, and at most ${headerBytesMax} bytes of them (these limits are fixed).`,
  )

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const visible = /^[!"$-~]+$/
const fieldText = /^[\t\u0020-\u007e\u0080-\u00ff]*$/
const hostText = /^[\w.~!$&'()*+,;=%:[\]-]*$/

/** The usual names as clients write them, so that most names need no check. */
const knownNames: ReadonlyMap<string, string> = new Map(
  [
    "Host",
    "Content-Type",
    "Content-Length",
    "Connection",
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "User-Agent",
    "Authorization",
    "Traceparent",
    "Tracestate",
    "Transfer-Encoding",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Forwarded-Host",
    "X-Real-IP",
    "X-Request-Id",
  ].flatMap((name) => [
    [name, name.toLowerCase()],
    [name.toLowerCase(), name.toLowerCase()],
  ]),
)
