// The id of a request, for logs, audit records and the header `x-request-id` of the answer. A client or a proxy may give
// it. Otherwise it is a number under a random name of this process, because a random id for each request would cost more.
import { randomBytes } from "node:crypto"

export const requestIdHeader = "x-request-id"

const visible = /^[!-~]{1,128}$/
const process = randomBytes(6).toString("base64url")
let made = 0

/** `given`: the header of the request. If it is absent or has another form, an id is made. */
export const requestIdOf = (given: string | null): string =>
  given !== null && visible.test(given) ? given : `${process}-${(++made).toString(36)}`
