/**
 * Checks that cost nothing, while the reader types. The service checks everything, and its answer has the last word. Each
 * check has the JSON pointer that the service would name.
 */
import { parseDuration } from "@punctual/api/parseDuration"
import { type RetryDraft, type TargetDraft, type TimerDraft, waitWords } from "./TimerDraft.ts"

export type FieldErrors = ReadonlyMap<string, string>

const durationRule = "must be a duration, such as 90s, 1h30m, 250ms or 7d"

/** The rule of the service. */
export const isNamespaceName = (text: string): boolean => /^[A-Za-z0-9-][A-Za-z0-9_-]{0,99}$/.test(text)

/** What is wrong with texts that are there. Fields that are still empty are in `missingIn`. */
export const checkDraft = (draft: TimerDraft): FieldErrors => {
  const errors = new Map<string, string>()
  const check = (pointer: string, text: string, isRight: (text: string) => boolean, rule: string): void => {
    if (text !== "" && !isRight(text)) errors.set(pointer, rule)
  }
  const duration = (pointer: string, text: string) =>
    check(pointer, text.trim(), (word) => parseDuration(word) !== undefined, durationRule)
  check(
    "/namespace",
    draft.namespace.trim(),
    isNamespaceName,
    "must be 1 to 100 characters of A-Z, a-z, 0-9, _ and -, and must not begin with _",
  )
  if (draft.when === "in") duration("/delay", draft.delay)
  duration("/expireAfter", draft.expireAfter)
  checkTarget("/target", draft.target, check, duration)
  checkTarget("/onDead", draft.onDead, check, duration)
  checkRetry(draft.retry, check, duration)
  const payload = whyNotJson(draft.payload)
  if (payload !== undefined) errors.set("/payload", payload)
  return errors
}

type Check = (pointer: string, text: string, isRight: (text: string) => boolean, rule: string) => void
type CheckDuration = (pointer: string, text: string) => void

const checkTarget = (at: string, target: TargetDraft, check: Check, duration: CheckDuration): void => {
  if (target.type !== "webhook") return
  const { url, headers, timeout } = target
  check(
    `${at}/url`,
    url.trim(),
    (text) => /^https?:\/\/[^\s/?#]+\S*$/i.test(text) && URL.canParse(text),
    "must be an absolute http or https URL, such as https://example.com/hook",
  )
  duration(`${at}/timeout`, timeout)
  const names = headers.map(({ name }) => name.trim().toLowerCase())
  const twice = names.find((name, index) => name !== "" && names.indexOf(name) < index)
  check(
    `${at}/headers`,
    twice ?? "",
    () => false,
    `The headers have ${twice} twice: header names do not differ by case.`,
  )
  const nameless = headers.find(({ name, value }) => name.trim() === "" && value !== "")
  check(`${at}/headers`, nameless?.value ?? "", () => false, "The headers have a value without a name.")
}

const checkRetry = (retry: RetryDraft, check: Check, duration: CheckDuration): void => {
  if (retry.form === "default") return
  duration("/retryPolicy/maxDuration", retry.maxDuration)
  if (retry.form === "waits") {
    const wrong = waitWords(retry.waits).find((word) => parseDuration(word) === undefined)
    check("/retryPolicy/waits", wrong ?? "", () => false, `${durationRule}, and ${wrong} is not`)
    return
  }
  duration("/retryPolicy/initialInterval", retry.initialInterval)
  duration("/retryPolicy/maxInterval", retry.maxInterval)
  const isBetween = (least: number, most: number) => (text: string) =>
    Number(text) >= least && Number(text) <= most
  check(
    "/retryPolicy/maxAttempts",
    retry.maxAttempts.trim(),
    (text) => /^[1-9]\d*$/.test(text),
    "must be a whole number, 1 or more",
  )
  check(
    "/retryPolicy/backoffMultiplier",
    retry.backoffMultiplier.trim(),
    isBetween(1, 100),
    "must be a number from 1 to 100",
  )
  check("/retryPolicy/jitter", retry.jitter.trim(), isBetween(0, 1), "must be a number from 0 to 1")
}

/** Only whether it is JSON. What is sent is the text itself. */
export const whyNotJson = (text: string): string | undefined => {
  if (text.trim() === "") return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** What a timer must have, and this draft does not have yet. */
export const missingIn = (draft: TimerDraft): FieldErrors => {
  const errors = new Map<string, string>()
  if (draft.namespace.trim() === "") errors.set("/namespace", "is needed")
  if (draft.when === "at" && draft.atMs === undefined)
    errors.set("/executeAt", "A day and a time are needed.")
  if (draft.when === "in" && draft.delay.trim() === "") errors.set("/delay", "is needed")
  if (draft.target.type === "webhook" && draft.target.url.trim() === "")
    errors.set("/target/url", "is needed")
  if (draft.onDead.type === "webhook" && draft.onDead.url.trim() === "")
    errors.set("/onDead/url", "is needed")
  return errors
}
