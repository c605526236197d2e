/** What HTTP calls a status, so that readers need not know the numbers. */
const words: Readonly<Record<number, string>> = {
  301: "Moved Permanently",
  302: "Found",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  425: "Too Early",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
}

/** `503 Service Unavailable` */
export const statusText = (status: number): string => {
  const word = words[status]
  return word === undefined ? String(status) : `${status} ${word}`
}

/** An error of an attempt, such as `answered 503`, with the words of its status. */
export const withStatusWords = (error: string): string =>
  error.replace(/\banswered (\d{3})\b/, (_, status) => `answered ${statusText(Number(status))}`)
