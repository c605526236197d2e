// Flags that timers and namespaces both have: how failed attempts are retried, and what is called for a dead letter.

import { parseDuration } from "@punctual/api/DurationMs"
import { RawJson } from "@punctual/client"
import { Option } from "effect"
import { Flag } from "effect/cli"
import { isJson, jsonFlag } from "./TimerFlags.ts"

export const retryFlags = (description: string) => ({
  retry: jsonFlag("retry", description),
  retryWaits: Flag.String("retry-waits").pipe(
    Flag.withMetavar("DURATIONS"),
    Flag.withDescription("The wait after each failed attempt, such as 1m,1h,1d; instead of --retry"),
    Flag.filter(
      (text) => text.split(",").every((part) => parseDuration(part) !== undefined),
      () => "durations with commas between them, such as 1m,1h,1d",
    ),
    Flag.optional,
  ),
})

export interface RetryTerms {
  readonly retry: Option.Option<RawJson>
  readonly retryWaits: Option.Option<string>
}

/** Why the flags contradict each other; nothing if they do not. */
export const whyNotRetry = ({ retry, retryWaits }: RetryTerms): string | undefined =>
  Option.isSome(retry) && Option.isSome(retryWaits)
    ? "--retry and --retry-waits were both given: remove one."
    : undefined

/** The retry policy as a request has it. */
export const retryPolicyOf = ({ retry, retryWaits }: RetryTerms) =>
  Option.isSome(retryWaits) ? { waits: retryWaits.value.split(",") } : Option.getOrUndefined(retry)

/** A value that is not a JSON object is the URL of a webhook. The service checks both. */
export const onDeadFlag = Flag.String("on-dead").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription(
    'What to call when a timer becomes a dead letter: a URL, or a whole target: {"type":"webhook","url":…} or {"type":"event"}',
  ),
  Flag.filter(
    (text) => !text.startsWith("{") || isJson(text),
    () => "a URL or JSON text",
  ),
  Flag.map((text) => (text.startsWith("{") ? new RawJson(text) : { type: "webhook", url: text })),
  Flag.optional,
)
