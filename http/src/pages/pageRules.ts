// What a browser may do with our pages.

/**
 * The browser loads nothing from other servers, runs no script inside the page's text, shows the page in no frame, and
 * tells no other site where the reader came from. Because of the last rule, forms would send `Origin: null`, which the
 * service refuses: pages must call the service with `fetch`.
 */
const rules = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

const headersOf = (policy: ReadonlyArray<string>) => ({
  "content-security-policy": policy.join("; "),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
})

/** For pages that call nothing. */
export const pageRules = headersOf(rules)

/** For pages that call the service they come from. */
export const callingPageRules = headersOf([...rules, "connect-src 'self'"])

/** The address of the file changes with its content, so browsers may keep the file. */
export const keptForever = { "cache-control": "public, max-age=31536000, immutable" }

/** The browser asks each time whether there is a newer version. */
export const checkedEachTime = { "cache-control": "no-cache" }
