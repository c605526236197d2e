/**
 * Decodes creates of the usual form by hand, because the schema takes most of the time of such a request. It knows few
 * fields, and only values that the schema accepts. For everything else it answers `undefined`, and the schema decides.
 * So all refusals come from the schema. A test compares both over the requests of the contract and generated ones.
 */
import { whyNotHttpUrl } from "./CallbackUrl.ts"
import { whyNotNewCorrelationId } from "./CorrelationId.ts"
import { type CreateTimer, existingRules } from "./CreateTimer.ts"
import { parseDuration } from "./DurationMs.ts"
import { parseInstant } from "./Instant.ts"
import type { Limits } from "./Limits.ts"
import { whyNotNamespace } from "./Namespace.ts"
import { whyNotNewId } from "./TimerId.ts"

/** What the schema decodes a plain create to. Its texts have no marks of their schemas yet. */
interface PlainCreate {
  namespace?: string
  timerId?: string
  executeAt?: number | undefined
  delay?: number | undefined
  callbackUrl?: string
  payload?: unknown
  correlationId?: string
  onExisting?: string
}

/** Most timers share a few URLs, and checking a URL costs as much as all other fields together. */
const knownUrlsMax = 1_000

/** `input` is parsed JSON, in which the payload is the bytes that were sent. */
export const makePlainCreate = (limits: Limits): ((input: unknown) => CreateTimer | undefined) => {
  const knownUrls = new Set<string>()
  const isUrl = (text: string): boolean => {
    if (knownUrls.has(text)) return true
    if (whyNotHttpUrl(text, limits.urlLength) !== undefined) return false
    if (knownUrls.size === knownUrlsMax) knownUrls.clear()
    knownUrls.add(text)
    return true
  }
  const isDelay = (delayMs: number | undefined): boolean =>
    delayMs !== undefined && Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= limits.aheadMs

  return (input) => {
    if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined
    const made: PlainCreate = {}
    for (const name in input) {
      const value: unknown = input[name as keyof typeof input]
      if (name === "payload") {
        if (!(value instanceof Uint8Array)) return undefined
        made.payload = value
        continue
      }
      if (typeof value !== "string") return undefined
      switch (name) {
        case "namespace":
          if (whyNotNamespace(value) !== undefined) return undefined
          made.namespace = value
          break
        case "timerId":
          if (whyNotNewId(value) !== undefined) return undefined
          made.timerId = value
          break
        case "executeAt":
          made.executeAt = parseInstant(value)
          if (made.executeAt === undefined) return undefined
          break
        case "delay":
          made.delay = parseDuration(value)
          if (!isDelay(made.delay)) return undefined
          break
        case "callbackUrl":
          if (!isUrl(value)) return undefined
          made.callbackUrl = value
          break
        case "correlationId":
          if (whyNotNewCorrelationId(value) !== undefined) return undefined
          made.correlationId = value
          break
        case "onExisting":
          if (!rules.has(value)) return undefined
          made.onExisting = value
          break
        default:
          return undefined
      }
    }
    const hasOneTime = (made.executeAt === undefined) !== (made.delay === undefined)
    // Every value has passed the rule of its field, so the marks of the schemas are true.
    return made.namespace !== undefined && hasOneTime && made.callbackUrl !== undefined
      ? (made as CreateTimer)
      : undefined
  }
}

const rules: ReadonlySet<string> = new Set(existingRules)
