/** Shows a URL in a log or an error without its secrets. */

/**
 * The URL without anything that may be a credential. It hides everything before the last @, because an unencoded
 * password may contain an @ or a /. It hides the query, because drivers accept passwords there. It hides any text that
 * is not a host, port and path, because it may be a password whose @ is missing.
 */
export const withoutCredentials = (url: string, queryShown: (query: string) => string = hidden): string => {
  const [scheme = ""] = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.exec(url) ?? []
  const rest = url.slice(scheme.length)
  const at = rest.lastIndexOf("@")
  const [place = "", query = ""] = rest.slice(at + 1).split(/\?(.*)/s)
  const shownQuery = query === "" ? "" : `?${queryShown(query)}`
  return `${scheme}${at < 0 ? "" : "…@"}${placeShape.test(place) ? place : "…"}${shownQuery}`
}

const hidden = () => "…"

const placeShape = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::\d{1,5})?(?:\/[\w%.-]*)?$/
