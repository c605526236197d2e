// The outcome of a test delivery. The words are the same whether the service or the command sent it.
import { layOutJson } from "../frame/layOutJson.ts"
import { factLines } from "../timers/TimerView.ts"

/** How Punctual judges the answer of a receiver. */
export const verdicts = ["delivered", "armedAgain", "retry", "dead", "notSent"] as const
export type Verdict = (typeof verdicts)[number]

export interface TestOutcome {
  readonly verdict: Verdict
  /** More about the verdict: when the next attempt would start, or why there is none. */
  readonly detail?: string
  readonly status?: number
  readonly error?: string
  readonly durationMs?: number
  /** Which secrets signed the request, as text for people. */
  readonly signed: string
  /** Whether the service calls the `onDead` target of the namespace, as text for people. Absent if there is none. */
  readonly onDead?: string
  /** The request as it was sent, if the command sent it. */
  readonly request?: { readonly headers: Readonly<Record<string, string>>; readonly body: string }
  /** The beginning of the answer, if the command read it. */
  readonly answer?: string
}

const verdictWords: Readonly<Record<Verdict, string>> = {
  delivered: "delivered: the timer would be finished",
  armedAgain: "delivered, and armed again: the answer names the next time",
  retry: "retry: Punctual would try again by the retry policy of the timer",
  dead: "dead: Punctual would not try again, and would keep the timer as a dead letter",
  notSent: "not sent: the receiver got no request",
}

export const isWell = ({ verdict }: TestOutcome): boolean =>
  verdict === "delivered" || verdict === "armedAgain"

export const outcomeText = (url: string, outcome: TestOutcome): string => {
  const { verdict, detail, status, error, durationMs, signed, onDead, request, answer } = outcome
  // The last line of the command says why nothing was sent.
  const isReason = verdict === "notSent"
  const facts = factLines([
    ["url", url],
    ["signed", signed],
    ["status", status === undefined ? undefined : String(status)],
    ["error", error],
    ["duration", durationMs === undefined ? undefined : `${durationMs} ms`],
    [
      "judged",
      isReason || detail === undefined ? verdictWords[verdict] : `${verdictWords[verdict]} (${detail})`,
    ],
    ["onDead", onDead],
  ])
  const headers = Object.entries(request?.headers ?? {}).map(([name, value]) => `  ${name}: ${value}`)
  return [
    ...(request === undefined ? [] : ["sent:", ...headers, "", layOutJson(request.body), ""]),
    ...(answer === undefined || answer === "" ? [] : ["answered:", answer, ""]),
    facts,
  ].join("\n")
}

export const failureWords = ({ verdict, error, detail }: TestOutcome): string => {
  const why = error ?? detail
  if (why === undefined) return `${verdictWords[verdict]}.`
  const words = verdict === "notSent" ? "not sent" : verdictWords[verdict]
  return `${words}: ${why}${why.endsWith(".") ? "" : "."}`
}
