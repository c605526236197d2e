// Hides secrets in what users and other services see: the values of headers that carry credentials. Every tenant can add
// headers of its own.
import type { ErrorMeta, RequestSpec, ResponseMeta, ServiceCall } from "./ServiceCall.ts"

export const redactedText = "[redacted]"

const alwaysRedacted: ReadonlyArray<string> = [
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
]

/** The names of the headers whose values are hidden, in lower case. */
export const redactedHeaders = (ofTenant: ReadonlyArray<string> = []): ReadonlySet<string> =>
  new Set([...alwaysRedacted, ...ofTenant.map((name) => name.toLowerCase())])

export const redactHeaders = (
  headers: Readonly<Record<string, string>>,
  hidden: ReadonlySet<string>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      hidden.has(name.toLowerCase()) ? redactedText : value,
    ]),
  )

export const redactRequest = (request: RequestSpec, hidden: ReadonlySet<string>): RequestSpec =>
  request.headers === undefined ? request : { ...request, headers: redactHeaders(request.headers, hidden) }

export const redactResponse = (response: ResponseMeta, hidden: ReadonlySet<string>): ResponseMeta => ({
  ...response,
  headers: redactHeaders(response.headers, hidden),
})

export const redactError = (error: ErrorMeta, hidden: ReadonlySet<string>): ErrorMeta =>
  error.response === undefined ? error : { ...error, response: redactResponse(error.response, hidden) }

export const redactCall = (call: ServiceCall, hidden: ReadonlySet<string>): ServiceCall => ({
  ...call,
  ...(call.response === undefined ? {} : { response: redactResponse(call.response, hidden) }),
  ...(call.error === undefined ? {} : { error: redactError(call.error, hidden) }),
})
