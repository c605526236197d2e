// The parts of a URL of an SQL server: user, password, host and database.

export type ServerUrl = { readonly value: URL } | { readonly problem: string }

/** `form` is an example of a URL for messages. The scheme of `given` is replaced. */
export const parseServerUrl = (given: string, scheme: string, form: string): ServerUrl => {
  const rest = given.replace(/^\w+:\/\//, "")
  // A host cannot contain an @, and a password cannot contain these characters unless they are encoded.
  if (/[@#?/\s].*@/s.test(rest)) {
    return {
      problem: `must percent-encode @ / ? # and spaces in its user and password (as %40 %2F %3F %23 %20), as in ${form}`,
    }
  }
  const text = `${scheme}://${rest}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWhole = url !== undefined && url.hostname !== "" && /^\/[^/]+$/.test(url.pathname)
  return isWhole && isDecodable(url.username + url.password + url.pathname)
    ? { value: url }
    : { problem: `must name a host and a database, as in ${form}` }
}

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
