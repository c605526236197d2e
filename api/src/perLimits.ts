/**
 * Makes a schema once for each `Limits` value. Effect caches compiled decoders by the identity of a schema, and the
 * OpenAPI document uses the identity for names. So the server, the client and the document must share one schema.
 */
import type { Limits } from "./Limits.ts"

export const perLimits = <A>(make: (limits: Limits) => A): ((limits: Limits) => A) => {
  const made = new WeakMap<Limits, A>()
  return (limits) => {
    const known = made.get(limits)
    if (known !== undefined) return known
    const value = make(limits)
    made.set(limits, value)
    return value
  }
}
