// Terms that a timer and a namespace can both have: how failed attempts are repeated, and who is told of dead timers.
import { parseDuration } from "@punctual/api/DurationMs"
import { Option } from "effect"
import { Flag } from "effect/cli"
import { JsonText } from "../client/ServiceClient.ts"
import { isJson, jsonFlag } from "./TimerFlags.ts"

export const retryFlags = (description: string) => ({
  retry: jsonFlag("retry", description),
  retryWaits: Flag.String("retry-waits").pipe(
    Flag.withMetavar("DURATIONS"),
    Flag.withDescription("The wait after each failed attempt, such as 1m,1h,1d; in place of --retry"),
    Flag.filter(
      (text) => text.split(",").every((part) => parseDuration(part) !== undefined),
      () => "durations with commas between them, such as 1m,1h,1d",
    ),
    Flag.optional,
  ),
})

export interface RetryTerms {
  readonly retry: Option.Option<JsonText>
  readonly retryWaits: Option.Option<string>
}

/** Why the flags contradict each other; nothing if they do not. */
export const whyNotRetry = ({ retry, retryWaits }: RetryTerms): string | undefined =>
  Option.isSome(retry) && Option.isSome(retryWaits)
    ? "Say how attempts are repeated once: either --retry, or --retry-waits."
    : undefined

/** The retry policy as a request has it. */
export const retryPolicyOf = ({ retry, retryWaits }: RetryTerms) =>
  Option.isSome(retryWaits) ? { waits: retryWaits.value.split(",") } : Option.getOrUndefined(retry)

/** What is no JSON object is the URL of a webhook; the service judges both. */
export const onDeadFlag = Flag.String("on-dead").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription(
    'Who is called when it is dead: a URL, or a target in full: {"type":"webhook","url":…} or {"type":"event"}',
  ),
  Flag.filter(
    (text) => !text.startsWith("{") || isJson(text),
    () => "a URL or JSON text",
  ),
  Flag.map((text) => (text.startsWith("{") ? new JsonText(text) : { type: "webhook", url: text })),
  Flag.optional,
)
