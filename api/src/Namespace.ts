/** The scope of timer ids, quotas and fairness. */
import { Schema } from "effect"

const namespaceMessage = "must be 1 to 100 characters of A-Z, a-z, 0-9, _ and -"
const namespacePattern = /^[A-Za-z0-9_-]{1,100}$/

/** What is wrong with the name of a namespace; `undefined` if it is valid. */
export const whyNotNamespace = (text: string): string | undefined => {
  if (!namespacePattern.test(text)) return namespaceMessage
  // The service uses names that begin with _ for itself. They must not clash with the namespaces of callers.
  return text.charCodeAt(0) === 95 ? "must not begin with _, which is reserved" : undefined
}

export const Namespace = Schema.String.annotate({ message: namespaceMessage })
  .check(
    Schema.makeFilter(whyNotNamespace, {
      toJsonSchema: () => ({ pattern: "^[A-Za-z0-9-][A-Za-z0-9_-]{0,99}$" }),
      description: "The namespace: 1 to 100 characters of A-Z, a-z, 0-9, _ and -. A leading _ is reserved.",
      examples: ["billing"],
    }),
  )
  .pipe(Schema.brand("Namespace"))

export type Namespace = typeof Namespace.Type
