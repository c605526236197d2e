/** The addresses of what belongs to a namespace. */
import { hrefOf } from "../location.ts"

export const namespaceHref = (name: string): string => hrefOf("namespace", { name })

export const timersHref = (namespace: string): string => hrefOf("timers", { q: `namespace:${namespace}` })

export const deadLettersHref = (namespace: string): string =>
  hrefOf("dead-letters", { q: `namespace:${namespace}` })
